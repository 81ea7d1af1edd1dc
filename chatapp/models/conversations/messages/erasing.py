"""Deletes messages for good, with the files that nobody else has."""

import uuid
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Self, TypeVar

from django.db import models, transaction

from chatapp.models.conversations.messages.images import ReplyImage
from chatapp.models.files.attachments import Attachment
from chatapp.models.files.stored_files import StoredFile
from chatapp.models.policies import legal_holds

M = TypeVar("M", bound=models.Model)

PURGED_AT_ONCE = 25  # messages


class ErasableMessages(models.QuerySet[M]):
    def purgeable(self, before: datetime) -> Self:
        """Messages that were deleted before this moment and are not under a legal hold."""
        is_held = legal_holds.holding("conversation__user", "conversation")
        return self.filter(deleted_at__lt=before).exclude(is_held)

    def purge_deleted(self, before: datetime) -> int:
        """Remove messages that were deleted before this moment, at most `PURGED_AT_ONCE`; return
        how many were removed.

        The newest go first so that no delete cascades: everything below a deleted message was
        deleted no later. Messages under a legal hold stay.
        """
        newest = models.F("sequence").desc(nulls_last=True), "-created_at", "-id"
        gone = self.purgeable(before)
        ordered = gone.order_by("conversation", *newest)
        with transaction.atomic(self.db):
            some = dict(ordered.values_list("pk", "conversation__user")[:PURGED_AT_ONCE])
            legal_holds.lock_people(list(set(some.values())))
            still = list(gone.filter(pk__in=some).values_list("pk", flat=True))
            type(self)(self.model, using=self.db).erase(still)
        return len(still)

    def erase(self, ids: Collection[uuid.UUID], *, with_files: bool = True) -> Counter[str]:
        """Delete these messages, within a transaction; return the number of rows per model.

        They are locked first, so that nothing begins to refer to them while the rows that do are
        looked for: an entry of the search index would make the deletion fail. `with_files` also
        deletes the files that nobody else has, after the transaction.
        """
        some = self.filter(pk__in=ids)
        list(some.order_by("pk").select_for_update().values_list("pk"))
        if with_files:
            attached = Attachment.objects.filter(message__in=ids).order_by().values_list("file")
            images = ReplyImage.objects.filter(message__in=ids).values_list("file")
            StoredFile.objects.erase_on_commit(key for [key] in attached.union(images))
        return +Counter(some.only("pk").delete()[1])
