"""The navigation beside pages: groups of links, and the one for the pages of one's own account."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.http import HttpRequest
from django.urls import reverse

MAX_COUNTED = 99  # of what waits on a page; more are "99+"

Pages = Iterable[tuple[str, Sequence[tuple[str, str]]]]  # titles, with names of URLs and labels

OWN_PAGES: Pages = (
    (
        "Account",
        (
            ("preferences", "Preferences"),
            ("profile", "Name and email"),
            ("account_change_password", "Password"),
            ("mfa_index", "Second factor"),
            ("devices", "Devices"),
        ),
    ),
    ("Library", (("presets", "Presets"), ("prompts", "Prompts"))),
    (
        "Your data",
        (
            ("imports", "Imports"),
            ("exports", "Exports"),
            ("shared-links", "Shared links"),
            ("own-usage", "Usage"),
            ("own-limits", "Limits"),
            ("privacy", "Privacy"),
        ),
    ),
    ("Help", (("help", "Help"),)),
)


@dataclass(frozen=True)
class Entry:
    label: str
    path: str
    is_current: bool
    waiting: int = 0
    waits: str = ""  # what `waiting` counts

    @property
    def count(self) -> str:
        return f"{MAX_COUNTED}+" if self.waiting > MAX_COUNTED else str(self.waiting or "")


@dataclass(frozen=True)
class Group:
    title: str
    entries: Sequence[Entry]


def navigation(
    request: HttpRequest, pages: Pages, waiting: Mapping[str, tuple[int, str]]
) -> list[Group]:
    """Return the groups that have pages; the page that is open, or is above it, is current.

    `waiting` has, by the name of a URL, how much waits there and what that is.
    """
    paths = {name: reverse(name) for _, named in pages for name, _ in named}
    above = [name for name, path in paths.items() if request.path.startswith(path)]
    current = max(above, key=lambda name: len(paths[name]), default="")
    return [
        Group(
            title,
            [
                Entry(label, paths[name], name == current, *waiting.get(name, ()))
                for name, label in named
            ],
        )
        for title, named in pages
        if named
    ]


def own_pages(request: HttpRequest) -> dict[str, Callable[[], list[Group]]]:
    """Context processor: the navigation of the pages of one's own account, when a page asks."""
    return {"own_pages": partial(navigation, request, OWN_PAGES, {})}
