"""The folders of a conversation: the person's list, a project, the archive, or the trash.

Actions on many conversations are queryset methods, so that one selected row and five hundred work
alike. Everything loaded for a person is loaded from what is
`not_trashed`: trashed conversations are found only through the trash, and by nobody once their days
are over.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Self, TypeVar
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone

from chatapp.db.locks import one_at_a_time
from chatapp.db.statements import Parameter
from chatapp.models.conversations.chats.erasable import Erasable
from chatapp.models.policies.legal_holds import UnderLegalHold, holding
from chatapp.models.refusals import Refused

TRASH_DAYS = 30
PURGE_LOCK = "purge"  # the lock of everything that erases conversations automatically
MAX_PINNED = 100  # per person, since the sidebar shows all of them

IS_NOT_TRASHED = models.Q(trashed_at=None)
# An index is used only if its condition matches the query's, so both use these.
IS_LISTED = IS_NOT_TRASHED & models.Q(archived_at=None, is_temporary=False)
IS_WITHOUT_PROJECT = IS_LISTED & models.Q(project=None)
IS_IN_PROJECT = IS_LISTED & models.Q(project__isnull=False)
IS_ARCHIVED = IS_NOT_TRASHED & models.Q(archived_at__isnull=False, is_temporary=False)
IS_TRASHED = models.Q(trashed_at__isnull=False)
IS_REVIEWED = IS_NOT_TRASHED & models.Q(is_temporary=False)
ORDER = ("-updated_at", "-id")

C = TypeVar("C", bound=Erasable)

# One partial index per folder: conversations elsewhere cost it nothing.
INDEXES = [
    models.Index(
        fields=["user", "is_pinned", *ORDER],
        name="conversation_listed",
        condition=IS_WITHOUT_PROJECT,
    ),
    models.Index(
        fields=["project", "is_pinned", *ORDER], name="conversation_filed", condition=IS_IN_PROJECT
    ),
    models.Index(fields=["user", *ORDER], name="conversation_archived", condition=IS_ARCHIVED),
    models.Index(fields=["user", *ORDER], name="conversation_trashed", condition=IS_TRASHED),
    models.Index(fields=["trashed_at"], name="conversation_purged", condition=IS_TRASHED),
    models.Index(fields=ORDER, name="conversation_reviewed", condition=IS_REVIEWED),
]


class FolderQuerySet(models.QuerySet[C]):
    # ---- the folders

    def not_trashed(self) -> Self:
        """Return the conversations that may be opened, which are all outside the trash."""
        return self.filter(IS_NOT_TRASHED)

    def without_project(self) -> Self:
        """Return the conversations in the list that belong to no project."""
        return self.filter(IS_WITHOUT_PROJECT)

    def in_project(self, project: UUID | None) -> Self:
        """Return the conversations of a project."""
        return self.filter(IS_IN_PROJECT, project=project)

    def archived(self) -> Self:
        return self.filter(IS_ARCHIVED)

    def trashed(self) -> Self:
        """Return the trashed conversations that can be restored."""
        return self.filter(IS_TRASHED, trashed_at__gt=_trash_deadline())

    def under_legal_hold(self) -> Self:
        """Return the conversations that a legal hold keeps from being erased."""
        return self.filter(is_under_legal_hold())

    # ---- a page of one

    def after(self, used: datetime | Parameter, pk: UUID | Parameter) -> Self:
        """Return the conversations after the given position in the order of last use."""
        # Written this way so that the index answers it: an OR would scan all rows.
        return self.filter(updated_at__lte=used).exclude(updated_at=used, pk__gte=pk)

    def since(self, used: datetime | Parameter, pk: UUID | Parameter) -> Self:
        """Return the conversations before the given position, the nearest first."""
        newer = self.filter(updated_at__gte=used).exclude(updated_at=used, pk__lte=pk)
        return newer.order_by("updated_at", "id")

    # ---- actions

    def pin(self) -> int:
        """Pin them; raises `Refused` if the person would have more than `MAX_PINNED`."""
        user = self.values_list("user", flat=True).first()
        pinned = self.model._default_manager.filter(user=user, is_pinned=True, trashed_at=None)
        if pinned.count() + self.filter(is_pinned=False).count() > MAX_PINNED:
            raise Refused(f"You can pin at most {MAX_PINNED} chats. Unpin some first.")
        return self.update(is_pinned=True)

    def unpin(self) -> int:
        return self.update(is_pinned=False)

    def archive(self) -> int:
        return self.update(archived_at=timezone.now())

    def unarchive(self) -> int:
        return self.update(archived_at=None)

    def trash(self) -> int:
        return self.filter(IS_NOT_TRASHED).update(trashed_at=timezone.now())

    def restore(self) -> int:
        """Move them from the trash back to where they were."""
        return self.trashed().update(trashed_at=None)

    def discard(self) -> int:
        """Delete them permanently: hide them now, and let the next `purge` delete them first.

        What is under a legal hold stays in the trash."""
        over = _trash_deadline() - timedelta(days=TRASH_DAYS)
        return self.trashed().exclude(is_under_legal_hold()).update(trashed_at=over)

    def purgeable(self) -> Self:
        """Return the conversations past their days in the trash and not under a legal hold."""
        return self.filter(IS_TRASHED, trashed_at__lte=_trash_deadline()).exclude(
            is_under_legal_hold()
        )

    def purge(self) -> bool:
        """Delete a portion of what is `purgeable`; return whether there was any.

        Runs in one process at a time, for a few messages, so that nobody waits long.
        """
        with suppress(UnderLegalHold), transaction.atomic(), one_at_a_time(PURGE_LOCK):
            conversation = self.purgeable().order_by("trashed_at", "id").first()
            if conversation and not conversation.erase_newest():
                conversation.delete()
            return conversation is not None
        return True  # a new legal hold: the next call leaves that conversation out


def is_under_legal_hold() -> models.Exists:
    """Return the condition that a legal hold keeps a conversation from being erased."""
    return holding("user", "pk")


def _trash_deadline() -> datetime:
    """Return the moment before which what was moved to the trash is no longer there."""
    return timezone.now() - timedelta(days=TRASH_DAYS)
