"""Versions: each saved change of an item adds one, and none is ever changed.

A kind of item derives from `Versioned` and has a model derived from `Version`, whose foreign key
`target` has the related name "versions". Both have the fields that `CONTENT` names: the item has
the newest content, so that lists need no join.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q

from chatapp.models.accounts.users import User
from chatapp.models.library.sharing import Level, Shareable, ShareableQuerySet
from chatapp.models.refusals import Refused

AT_ONCE = 100  # rows per statement
MAX_VERSIONS = 50  # of an item; the oldest go, but for those in use


class ChangedMeanwhile(Refused):
    """Somebody else saved a version after the form was opened. `newest` is its number."""

    def __init__(self, newest: int, author: str) -> None:
        self.newest = newest
        self.what = f"{author or 'Someone'} has changed this since you opened it."
        super().__init__(
            f"{self.what} Your text is kept below: compare it with version {newest}, and save "
            "again to replace that version."
        )


class NotOpen(Refused):
    """The item was deleted, or the person may not change it (any more)."""

    def __init__(self) -> None:
        super().__init__(
            "This was deleted, or you can't change it any more. Your text is kept below: "
            "copy it into one of your own."
        )


V = TypeVar("V", bound="Version")
K = TypeVar("K", bound="Versioned")


class VersionQuerySet(models.QuerySet[V]):
    def in_use(self) -> Self:
        """Return the versions that rows of other models refer to, such as chats."""
        return self.filter(self._is_in_use())

    def unused(self) -> Self:
        return self.exclude(self._is_in_use())

    def _is_in_use(self) -> Q:
        condition = Q(pk__in=[])
        for field in self._references():
            rows = field.model._base_manager.filter(**{field.name: OuterRef("pk")})
            condition |= Q(Exists(rows))
        return condition

    def _references(self) -> "Iterator[models.Field[Any, Any]]":
        for relation in self.model._meta.get_fields(include_hidden=True):
            if isinstance(relation, models.ForeignObjectRel):
                yield relation.field


class Version(models.Model):
    """The content of an item as somebody saved it.

    A foreign key to a version is null once the item is deleted for good, so it sets null then.
    """

    number = models.PositiveIntegerField()
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[Any] = models.Manager.from_queryset(VersionQuerySet)()

    class Meta:
        abstract = True
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["target", "number"], name="%(class)s_number")
        ]

    def __str__(self) -> str:
        return f"Version {self.number}"

    def save(self, *args: Any, **options: Any) -> None:
        if not self._state.adding:
            raise TypeError("Versions are never changed.")
        super().save(*args, **options)


class VersionedQuerySet(ShareableQuerySet[K]):
    def unused(self) -> Self:
        """Items without a version that is in use."""
        kind: type[models.Model] = self.model
        versions: Any = kind._meta.get_field("versions").related_model
        return self.exclude(Exists(versions.objects.filter(target=OuterRef("pk")).in_use()))


class Versioned(Shareable):
    """A shareable item that keeps its former content."""

    version = models.PositiveIntegerField(default=1, db_default=1, editable=False)  # the newest

    versions: Any
    objects: ClassVar[Any] = models.Manager.from_queryset(VersionedQuerySet)()
    CONTENT: ClassVar[tuple[str, ...]]

    class Meta:
        abstract = True

    @classmethod
    def start(cls, owner: User, **content: Any) -> Self:
        """Create an item with its first version."""
        return cls.start_all(owner, [content])[0]

    @classmethod
    @transaction.atomic
    def start_all(cls, owner: User, contents: Iterable[Mapping[str, Any]]) -> list[Self]:
        """Create an item with its first version for each of these contents."""
        items = [cls(owner=owner, **content) for content in contents]
        cls.objects.bulk_create(items, batch_size=AT_ONCE)
        version: Any = cls._meta.get_field("versions").related_model
        first = [version(target=item, number=1, author=owner, **item.content) for item in items]
        version.objects.bulk_create(first, batch_size=AT_ONCE)
        return items

    @property
    def content(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.CONTENT}

    @transaction.atomic
    def change(self, by: User, opened: int, **content: Any) -> None:
        """Save new content as a version, unless it is the same.

        `opened` is the number of the version that the person saw. Raises `ChangedMeanwhile` if
        there is a newer one, and `NotOpen` if the person may not change the item.
        """
        locked = type(self).objects.select_for_update(of=("self",)).open_to(by, Level.EDIT)
        if (item := locked.filter(pk=self.pk).first()) is None:
            raise NotOpen
        if item.version != opened:
            newest = item.versions.select_related("author").first()
            raise ChangedMeanwhile(item.version, str(newest.author or "") if newest else "")
        if all(getattr(item, name) == value for name, value in content.items()):
            return
        self.version = item.version + 1
        for name, value in content.items():
            setattr(self, name, value)
        self.save(update_fields=[*content, "version", "updated_at"])
        self._store_version(by)

    @property
    def newest(self) -> Any:
        """The newest version."""
        return self.versions.get(number=self.version)

    def get_version_content(self, number: int) -> dict[str, Any]:
        """Return the content of an earlier version. Raises `Refused`."""
        if (earlier := self.versions.filter(number=number).first()) is None:
            raise Refused("This version no longer exists. Choose another one.")
        return {name: getattr(earlier, name) for name in self.CONTENT}

    def _store_version(self, author: User) -> None:
        self.versions.create(number=self.version, author=author, **self.content)
        self.versions.filter(number__lte=self.version - MAX_VERSIONS).unused().delete()
