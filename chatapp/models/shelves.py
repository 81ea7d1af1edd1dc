"""Where a conversation stands: in its person's list, a project, the archive, or the trash.

What concerns many at once is a method of their queryset, so that one chosen row and five hundred
are the same. Whatever is loaded for a person is loaded from what is `kept`: what is in the trash is
found by the trash alone, and by nobody once its days are over.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.legal_holds import Held, holding
from chatapp.models.locks import one_at_a_time
from chatapp.models.refusals import Refused
from chatapp.models.statements import Slot

if TYPE_CHECKING:
    from chatapp.models.conversations import Conversation  # noqa: F401 - of which it is

TRASH_DAYS = 30
ERASING = "purge"  # a lock of whatever erases conversations by itself
MOST_PINNED = 100  # of a person: they are drawn all together

IS_KEPT = models.Q(trashed_at=None)
# The conditions of a shelf's index are those of its queries, or no database would use it.
IS_LISTED = IS_KEPT & models.Q(archived_at=None, is_temporary=False)
IS_LOOSE = IS_LISTED & models.Q(project=None)
IS_IN_PROJECT = IS_LISTED & models.Q(project__isnull=False)
IS_ARCHIVED = IS_KEPT & models.Q(archived_at__isnull=False, is_temporary=False)
IS_TRASHED = models.Q(trashed_at__isnull=False)
IS_REVIEWED = IS_KEPT & models.Q(is_temporary=False)
ORDER = ("-updated_at", "-id")

# One a shelf: what is not on it costs its index nothing.
INDEXES = [
    models.Index(
        fields=["user", "is_pinned", *ORDER], name="conversation_listed", condition=IS_LOOSE
    ),
    models.Index(
        fields=["project", "is_pinned", *ORDER], name="conversation_filed", condition=IS_IN_PROJECT
    ),
    models.Index(fields=["user", *ORDER], name="conversation_archived", condition=IS_ARCHIVED),
    models.Index(fields=["user", *ORDER], name="conversation_trashed", condition=IS_TRASHED),
    models.Index(fields=["trashed_at"], name="conversation_purged", condition=IS_TRASHED),
    models.Index(fields=ORDER, name="conversation_reviewed", condition=IS_REVIEWED),
]


class ShelvedQuerySet(models.QuerySet["Conversation"]):
    # ---- the shelves

    def kept(self) -> Self:
        """Those that may be opened: what is in the trash is in nobody's pages."""
        return self.filter(IS_KEPT)

    def loose(self) -> Self:
        """Those of the list that are in no project."""
        return self.filter(IS_LOOSE)

    def filed(self, project: UUID | None) -> Self:
        """Those of a project."""
        return self.filter(IS_IN_PROJECT, project=project)

    def archived(self) -> Self:
        return self.filter(IS_ARCHIVED)

    def trashed(self) -> Self:
        """Those that can be restored."""
        return self.filter(IS_TRASHED, trashed_at__gt=_end_of_days())

    def held(self) -> Self:
        """Those that a legal hold keeps from being erased."""
        return self.filter(is_held())

    # ---- a page of one

    def after(self, used: datetime | Slot, pk: UUID | Slot) -> Self:
        """Those that follow this one in the order of their last use."""
        # Said so that the index answers it: an OR of the two would be a filter of all rows.
        return self.filter(updated_at__lte=used).exclude(updated_at=used, pk__gte=pk)

    def since(self, used: datetime | Slot, pk: UUID | Slot) -> Self:
        """Those that come before this one, the nearest first."""
        rest = self.filter(updated_at__gte=used).exclude(updated_at=used, pk__lte=pk)
        return rest.order_by("updated_at", "id")

    # ---- what becomes of them

    def pin(self) -> int:
        """Raises `Refused` where there would be too many."""
        user = self.values_list("user", flat=True).first()
        pinned = self.model._default_manager.filter(user=user, is_pinned=True, trashed_at=None)
        if pinned.count() + self.filter(is_pinned=False).count() > MOST_PINNED:
            raise Refused(f"{MOST_PINNED} conversations can be pinned. Unpin some first.")
        return self.update(is_pinned=True)

    def unpin(self) -> int:
        return self.update(is_pinned=False)

    def archive(self) -> int:
        return self.update(archived_at=timezone.now())

    def unarchive(self) -> int:
        return self.update(archived_at=None)

    def trash(self) -> int:
        return self.filter(IS_KEPT).update(trashed_at=timezone.now())

    def restore(self) -> int:
        """To where they stood."""
        return self.trashed().update(trashed_at=None)

    def discard(self) -> int:
        """For good: they are found no more, and the next `purge` deletes them first. What is held
        stays in the trash."""
        over = _end_of_days() - timedelta(days=TRASH_DAYS)
        return self.trashed().exclude(is_held()).update(trashed_at=over)

    def purgeable(self) -> Self:
        """What was in the trash for longer than its days, and is not held."""
        return self.filter(IS_TRASHED, trashed_at__lte=_end_of_days()).exclude(is_held())

    def purge(self) -> bool:
        """Deletes a part of what was in the trash for longer than its days; whether there was any
        that is not held.

        One process at a time, and a few hundred messages, so that nobody waits long.
        """
        with suppress(Held), transaction.atomic(), one_at_a_time(ERASING):
            conversation = self.purgeable().order_by("trashed_at", "id").first()
            if conversation and not conversation.erase_newest():
                conversation.delete()
            return conversation is not None
        return True  # a hold came in between, so that the next look leaves it out


def is_held() -> models.Exists:
    """Whether a legal hold keeps a conversation from being erased."""
    return holding("user", "pk")


def _end_of_days() -> datetime:
    """What was put into the trash before this moment is not there any more."""
    return timezone.now() - timedelta(days=TRASH_DAYS)
