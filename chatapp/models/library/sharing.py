"""Items that a person owns and may share with groups or with everyone who signs in.

A kind of item derives from `Shareable` and has a model derived from `Grant`, whose foreign key
`target` has the related name "grants". Every lookup starts from a person: what is not open to them
does not exist for them. A right ends when its grant is removed or the person leaves the group.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self, TypeVar

from django.apps import apps
from django.contrib.auth.models import Group
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from chatapp.models import audit
from chatapp.models.accounts.users import User
from chatapp.models.platform.installation import Installation
from chatapp.models.policies.legal_holds import LegalHold
from chatapp.models.refusals import Refused

DELETED_DAYS = 30  # for which a deleted item can be restored
PURGED_AT_ONCE = 100
EVERYONE = "Everyone"
NOT_THE_OWNER = "Only the owner can share this. Ask them, or save a copy of your own."
NO_SHARING = (
    "You can't share at the moment: an administrator has decided who may. "
    "What you have shared stays shared until you stop it."
)
NOT_A_MEMBER = "You can share with groups that you belong to. Choose one of these."


class Level(models.IntegerChoices):
    """The uses that a grant allows. Each level includes those before it."""

    USE = 1, "Can use it"
    READ = 2, "Can use and read it"
    EDIT = 3, "Can use, read and change it"


class Grant(models.Model):
    """The permission of a group's members, or of everyone, to use an item."""

    group = models.ForeignKey(Group, models.CASCADE, null=True, related_name="+")  # None: everyone
    level = models.PositiveSmallIntegerField(choices=Level, default=Level.USE)

    objects: ClassVar[Any] = models.Manager()

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["target", "group"], name="%(class)s_of_a_group"),
            models.UniqueConstraint(
                fields=["target"], condition=Q(group=None), name="%(class)s_of_everyone"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.grantee}: {self.get_level_display()}"

    @property
    def grantee(self) -> str:
        return self.group.name if self.group else EVERYONE


S = TypeVar("S", bound="Shareable")


class ShareableQuerySet(models.QuerySet[S]):
    def active(self) -> Self:
        """Return the items that are not deleted."""
        return self.filter(deleted_at=None)

    def owned_by(self, user: User) -> Self:
        return self.active().filter(owner=user)

    def open_to(self, user: User, level: Level = Level.USE) -> Self:
        """Return the items that the person owns, or on which they have at least this level."""
        return self.active().filter(Q(owner=user) | Q(pk__in=self._granted_to(user, level)))

    def shared_with(self, user: User) -> Self:
        """Return the items of other people that this person may use."""
        return self.active().filter(pk__in=self._granted_to(user, Level.USE)).exclude(owner=user)

    def shared(self) -> Self:
        """Return the items that have any grant."""
        return self.active().filter(pk__in=self._grants().values("target"))

    def deleted_by(self, user: User) -> Self:
        """Return the deleted items of a person that can still be restored."""
        return self.filter(owner=user, deleted_at__gt=_end_of_days())

    def purge(self) -> bool:
        """Delete some of those whose days are over; return whether there were any.

        What is in use is kept, and what belongs to a person whose data is all under a legal hold.
        """
        holds = LegalHold.objects.living().filter(user=OuterRef("owner"), conversation=None)
        overdue = self.unused().filter(deleted_at__lte=_end_of_days()).exclude(Exists(holds))
        batch = list(overdue.order_by().values_list("pk", flat=True)[:PURGED_AT_ONCE])
        return bool(batch and self.filter(pk__in=batch).delete())

    def unused(self) -> Self:
        """Return the items that nothing else needs any more. Some kinds override this."""
        return self.all()

    def _grants(self) -> models.QuerySet[Any]:
        grants: Any = self.model._meta.get_field("grants").related_model
        queryset: models.QuerySet[Any] = grants.objects.all()
        return queryset

    def _granted_to(self, user: User, level: Level) -> models.QuerySet[Any]:
        # As a list of keys, so that the database need not look at everybody's items.
        return self._grants().filter(_is_for(user), level__gte=level).values("target")


class Shareable(models.Model):
    """An item with an owner, who may let others use it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, models.CASCADE, related_name="%(class)ss")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, editable=False)

    NAME: ClassVar[str]  # the field with its name
    grants: Any
    objects: ClassVar[Any] = models.Manager.from_queryset(ShareableQuerySet)()

    class Meta:
        abstract = True

    def find_level(self, user: User) -> Level | None:
        """Return the highest level that the person has; None if it is not open to them."""
        if self.owner_id == user.pk:
            return Level.EDIT
        highest = self.grants.filter(_is_for(user)).aggregate(level=models.Max("level"))["level"]
        return Level(highest) if highest else None

    def is_readable(self, user: User) -> bool:
        """Whether the person may see what is in it, and not only use it."""
        level = self.find_level(user)
        return level is not None and level >= Level.READ

    @transaction.atomic
    def share(self, group: Group | None, level: Level, by: User) -> None:
        """Let a group, or everyone if it is None, have this level. Raises `Refused`."""
        if self.owner_id != by.pk:
            raise Refused(NOT_THE_OWNER)
        if not Installation.load().lets_share(by):
            raise Refused(NO_SHARING)
        if group and group not in groups_to_share_with(by):
            raise Refused(NOT_A_MEMBER)
        grant, _ = self.grants.update_or_create(group=group, defaults={"level": level})
        detail = {"with": grant.grantee, "right": level.label}
        audit.record("item.shared", actor=by, about=self, detail=detail)

    @transaction.atomic
    def unshare(self, group: Group | None, by: User) -> None:
        """Remove the grant of a group, or of everyone. Raises `Refused`."""
        if self.owner_id != by.pk and not by.administers:
            raise Refused(NOT_THE_OWNER)
        if self.grants.filter(group=group).delete()[0]:
            detail = {"with": group.name if group else EVERYONE}
            audit.record("item.unshared", actor=by, about=self, detail=detail)

    def discard(self) -> None:
        """Delete it; for `DELETED_DAYS` the owner can restore it."""
        self.deleted_at = timezone.now()
        self.save(update_fields=["deleted_at"])

    def restore(self) -> None:
        self.deleted_at = None
        self.save(update_fields=["deleted_at"])


def groups_to_share_with(user: User) -> "models.QuerySet[Group]":
    """Return the groups of a person; administrators can share with all."""
    groups = Group.objects.order_by("name")
    return groups if user.administers else groups.filter(user=user)


def kinds() -> list[type[Shareable]]:
    """Return all models of items that can be shared."""
    return [model for model in apps.get_models() if issubclass(model, Shareable)]


def _is_for(user: User) -> Q:
    """Return the condition that a grant is for this person."""
    return Q(group=None) | Q(group__in=Group.objects.filter(user=user))


def _end_of_days() -> datetime:
    return timezone.now() - timedelta(days=DELETED_DAYS)
