"""The list of what was learned from refusals of an upstream's models, and forgetting it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.staff import administrators_only
from chatapp.models import Upstream
from chatapp.staff.people.log import record
from chatapp.upstream.wire.requests.concessions import Concession

# What follows a model's id in the list.
WORDS: Mapping[Concession, str] = MappingProxyType(
    {
        Concession.TOOLS: "refused tools, so none are offered to it",
        Concession.SYSTEM: "refused a system message, so instructions are sent in the first prompt",
        Concession.PARTS: "refused a list of parts, so documents and prompt are sent as one text",
        Concession.BARE_CALLS: "refused tool calls without reasoning, so calls of other models are "
        "sent with empty reasoning",
        Concession.TOOLS_WITH_EFFORT: "refused tools together with reasoning, so it gets tools "
        "only without reasoning",
        Concession.SCHEMA_KEYWORDS: "refused keywords in the schemas of tools, so $schema and "
        "additionalProperties are left out",
    }
)
USAGE_OPTION = "usage_option"  # is learned of the whole upstream
OF_USAGE_OPTION = "The provider refused stream_options, so it isn't asked to report usage."


@dataclass(frozen=True)
class ListedLesson:
    """A lesson about a model, or about the whole upstream, with its time if that is known."""

    concession: str
    words: str
    model: str = ""
    at: datetime | None = None


def list_lessons(upstream: Upstream) -> list[ListedLesson]:
    """Return what was learned of an upstream and its models, by model."""
    return [*_iterate_lessons(upstream)]


@require_POST
@administrators_only
def forget(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget what was learned of a model, or of all if the request names none."""
    if not is_confirmed(request):
        return ask_to_confirm(reverse("upstream-offer", args=[pk]))
    model, concession = request.POST.get("model", ""), request.POST.get("concession", "")
    with transaction.atomic():
        upstream = get_object_or_404(Upstream.objects.select_for_update(), pk=pk)
        before = list_lessons(upstream)
        forgotten = [
            lesson
            for lesson in before
            if not (model or concession) or (lesson.model, lesson.concession) == (model, concession)
        ]
        if forgotten:
            _forget(upstream, forgotten)
            values = {"learned": [f"{lesson.model} {lesson.words}".strip() for lesson in forgotten]}
            record(request, "upstream.changed", upstream, before=values, after={"learned": []})
    messages.success(request, "Forgotten. Requests are sent as before it was learned.")
    return redirect("upstream-offer", pk)


def _iterate_lessons(upstream: Upstream) -> Iterator[ListedLesson]:
    if not upstream.takes_usage_option:
        yield ListedLesson(USAGE_OPTION, OF_USAGE_OPTION)
    for model, made in upstream.concessions_at.items():
        for concession, at in made.items():
            yield ListedLesson(concession, WORDS[concession], model, at)


def _forget(upstream: Upstream, lessons: list[ListedLesson]) -> None:
    for lesson in lessons:
        if lesson.concession == USAGE_OPTION:
            upstream.takes_usage_option = True
            upstream.save(update_fields=["takes_usage_option"])
        else:
            Upstream.forget_concession(upstream.pk, lesson.model, lesson.concession)
