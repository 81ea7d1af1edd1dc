"""The interface of a kind of item, such as prompts, to the pages of the library."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from chatapp.library.forms import ItemForm
from chatapp.models import User
from chatapp.models.library.sharing import Level
from chatapp.models.library.versions import Versioned

Item = TypeVar("Item", bound=Versioned)


class Kind(ABC, Generic[Item]):
    """A kind of item. URLs are named after it, and so is the folder of its templates."""

    name: ClassVar[str]
    model: type[Item]
    related: ClassVar[Sequence[str]] = ("owner",)  # read with an item

    max_owned: ClassVar[int]
    max_listed: ClassVar[int]  # in a section of the list
    max_unsearched: ClassVar[int]  # items in a list that offers no search
    searched: ClassVar[str]  # the fields that a search looks at, in words
    copied_at: ClassVar[Level]  # the level from which a person may save a copy

    created: ClassVar[str] = "Saved."
    changed: ClassVar[str] = "Saved."
    deleted: ClassVar[str]

    max_file_bytes: ClassVar[int]
    file_help: ClassVar[str]  # with the limit as `{}`

    @property
    def plural(self) -> str:
        return f"{self.name}s"

    def find(self, user: User, pk: UUID, level: Level = Level.USE) -> Item:
        """Return an item that the person owns or has this level on; else the page is missing."""
        items: QuerySet[Any] = self.model.objects.open_to(user, level)
        item: Item = get_object_or_404(items.select_related(*self.related), pk=pk)
        return item

    def get_owned(self, user: User, pk: UUID) -> Item:
        """Return an item of the person's own; else the page is missing."""
        own: QuerySet[Any] = self.model.objects.owned_by(user)
        item: Item = get_object_or_404(own, pk=pk)
        return item

    def render(self, request: HttpRequest, page: str, context: Mapping[str, Any]) -> HttpResponse:
        return render(request, f"library/{self.plural}/{page}.html", {"kind": self, **context})

    @abstractmethod
    def search(self, query: str) -> Any:
        """Return the items that the query finds, with only what a list shows of them."""

    def list_context(self, user: User) -> Mapping[str, Any]:
        """Return what else the list shows."""
        return {}

    @abstractmethod
    def form(self, user: User, data: Any, item: Item | None = None) -> ItemForm:
        """Return the form for an item, or for a new one."""

    def initial(self, user: User, query: Mapping[str, str]) -> Mapping[str, Any]:
        """Return what the query fills in of the form for a new item."""
        return {}

    def read_context(self, user: User, item: Item, may_read: bool) -> Mapping[str, Any]:
        """Return what the page shows of an item that the person may not change."""
        return {}

    def versions(self, item: Item) -> "QuerySet[Any]":
        """Return the versions of an item for their list."""
        item_versions: QuerySet[Any] = item.versions.select_related("author")
        return item_versions

    def adapt_contents(self, owner: User, contents: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Return the contents of new items, adapted to the items that the owner has."""
        return contents

    @abstractmethod
    def export_items(self, user: User, items: Iterable[Item]) -> list[dict[str, Any]]:
        """Return the items as the person's export has them."""

    @abstractmethod
    def import_items(self, user: User, data: bytes) -> Sequence[str]:
        """Add the items in a file and return what was done, as sentences.

        Raises `Unreadable` or `Refused`.
        """
