"""Projects, presets and prompts that the search dialog finds by the words of their names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse

from chatapp.models import Preset, Project, SavedPrompt, User
from chatapp.search.words import has_words
from chatapp.text.indexing import Term

MAX_PER_KIND = 5  # of each kind
MAX_NAMES_READ = 1_000  # names of each kind


@dataclass(frozen=True)
class Destination:
    name: str
    kind: str
    icon: str
    url: str


def find_destinations(user: User, terms: Sequence[Term]) -> list[Destination]:
    """Return what the person may open and each term begins some word of."""
    if not terms:
        return []
    kinds: tuple[tuple[str, str, QuerySet[Any], str, Callable[[Any], str]], ...] = (
        ("Project", "folder", Project.objects.open_to(user), "name", _project),
        ("Preset", "sliders", Preset.objects.open_to(user), "name", _chat_with),
        ("Prompt", "pencil", SavedPrompt.objects.open_to(user), "title", _prompt),
    )
    destinations = []
    for kind, icon, items, field, build_url in kinds:
        named = items.order_by(field, "pk").values_list("pk", field)[:MAX_NAMES_READ]
        fitting = (row for row in named if has_words(row[1], terms))
        destinations += [
            Destination(name, kind, icon, build_url(pk))
            for pk, name in islice(fitting, MAX_PER_KIND)
        ]
    return destinations


def _project(pk: object) -> str:
    return reverse("project", args=[pk])


def _chat_with(preset: object) -> str:
    return f"{reverse('chat')}?{urlencode({'preset': str(preset)})}"


def _prompt(pk: object) -> str:
    return reverse("prompt", args=[pk])
