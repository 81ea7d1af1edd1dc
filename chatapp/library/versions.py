"""The versions of an item: who saved each, and when; and the way back."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.library import saving
from chatapp.library.kinds import Kind
from chatapp.models import Refused, User
from chatapp.models.library.sharing import Level
from chatapp.models.library.versions import ChangedMeanwhile, Versioned

MAX_NUMBER = 2**31 - 1


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def versions(request: HttpRequest, kind: Kind[Any], pk: UUID) -> HttpResponse:
    """List the versions, newest first, or make the content of one of them the newest."""
    assert isinstance(request.user, User)
    level = Level.EDIT if request.method == "POST" else Level.READ
    item = kind.find(request.user, pk, level)
    if request.method == "POST":
        _go_back(request, item, request.user)
        return redirect(f"{kind.name}-versions", pk)
    context = {
        "item": item,
        "versions": kind.versions(item),
        "may_change": item.find_level(request.user) == Level.EDIT,
    }
    return kind.render(request, "versions", context)


def _go_back(request: HttpRequest, item: Versioned, user: User) -> None:
    number = _number(request, "number")
    try:
        saving.change(item, user, _number(request, "opened"), item.get_version_content(number))
    except ChangedMeanwhile as error:
        messages.error(request, f"{error.what} Nothing was restored. Look at it, and try again.")
    except Refused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Version {number} was restored as version {item.version}.")


def _number(request: HttpRequest, name: str) -> int:
    """Return a posted number; 0, which no version has, if it is none."""
    value = request.POST.get(name, "")
    is_number = value.isascii() and value.isdigit() and len(value) < 11
    return min(int(value), MAX_NUMBER) if is_number else 0
