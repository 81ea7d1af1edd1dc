"""Options for what was typed so far, as HTML."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import administrators_only
from chatapp.db.primary_keys import parse_pk
from chatapp.models import User
from chatapp.staff.pickers import queries
from chatapp.staff.pickers.queries import Option

MAX_TYPED = 100  # characters


@require_GET
@administrators_only
def people(request: HttpRequest) -> HttpResponse:
    return options_page(request, queries.people(get_typed_text(request)))


@require_GET
@administrators_only
def models(request: HttpRequest) -> HttpResponse:
    provider = parse_pk(request.GET.get("provider", ""))
    return options_page(request, queries.models(get_typed_text(request), provider))


@require_GET
@administrators_only
def chats(request: HttpRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(User, pk=pk)
    return options_page(request, queries.chats(person, get_typed_text(request)))


def get_typed_text(request: HttpRequest) -> str:
    return request.GET.get("q", "").replace("\0", "").strip()[:MAX_TYPED]


def options_page(request: HttpRequest, options: Sequence[Option]) -> HttpResponse:
    return render(request, "pickers/_options.html", {"options": options})
