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

MOST = 5  # of each kind
READ = 1_000  # names of each kind


@dataclass(frozen=True)
class Place:
    name: str
    kind: str
    icon: str
    url: str


def find_places(user: User, terms: Sequence[Term]) -> list[Place]:
    """Return what the person may open and each term begins some word of."""
    if not terms:
        return []
    kinds: tuple[tuple[str, str, QuerySet[Any], str, Callable[[Any], str]], ...] = (
        ("Project", "folder", Project.objects.open_to(user), "name", _project),
        ("Preset", "sliders", Preset.objects.open_to(user), "name", _chat_with),
        ("Prompt", "pencil", SavedPrompt.objects.open_to(user), "title", _prompt),
    )
    found = []
    for kind, icon, items, field, url_of in kinds:
        named = items.order_by(field, "pk").values_list("pk", field)[:READ]
        fitting = (one for one in named if has_words(one[1], terms))
        found += [Place(name, kind, icon, url_of(pk)) for pk, name in islice(fitting, MOST)]
    return found


def _project(pk: object) -> str:
    return reverse("project", args=[pk])


def _chat_with(preset: object) -> str:
    return f"{reverse('chat')}?{urlencode({'preset': str(preset)})}"


def _prompt(pk: object) -> str:
    return reverse("prompt", args=[pk])
