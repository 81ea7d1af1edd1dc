"""Deletion of a conversation for good, with all its messages.

For what a person deletes within a conversation, and may restore, see `deletions`; for the trash,
see `folders`.
"""

from collections import Counter
from typing import Any

from django.db import models, transaction

from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads import ledger
from chatapp.models.files.attachments import Attachment
from chatapp.models.files.stored_files import StoredFile
from chatapp.models.policies.legal_holds import refuse_held

ERASED_AT_ONCE = 25  # messages


class Erasable(models.Model):
    """Erases a conversation in short transactions, so that nobody waits long for the database."""

    user_id: int

    class Meta:
        abstract = True

    def erase(self, *, with_files: bool = True) -> Counter[str]:
        """Delete it with all its messages, newest first; return the number of rows per model.

        If a transaction fails, a shorter thread is left, which can be deleted like any other.
        `with_files` also deletes the files that nobody else has. Raises `UnderLegalHold`.
        """
        deleted: Counter[str] = Counter()
        while True:
            while ledger.complete():
                pass
            if not (some := self.erase_newest(with_files=with_files)):
                break
            deleted += some
        with transaction.atomic():
            refuse_held(self.user_id, self.pk)
            # A concurrent save of a reply waits for this lock, and then finds the reply deleted.
            type(self)._default_manager.select_for_update().filter(pk=self.pk).first()
            return deleted + Counter(self.delete()[1])

    @transaction.atomic
    def erase_newest(self, *, with_files: bool = True) -> Counter[str]:
        """Delete one batch of messages; return the number of rows per model.

        A concurrent `ask` either commits first or runs on what this leaves. Raises
        `UnderLegalHold`.
        """
        refuse_held(self.user_id, self.pk)
        type(self)._default_manager.select_for_update(no_key=True).filter(pk=self.pk).first()
        newest = Message.objects.filter(conversation=self.pk).reverse()
        some = list(newest.values_list("pk", flat=True)[:ERASED_AT_ONCE])
        return Message.objects.erase(some, with_files=with_files)

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete it with the files in its draft that nobody else has."""
        drafted = Attachment.objects.filter(conversation=self.pk).order_by()
        StoredFile.objects.erase_on_commit(drafted.values_list("file", flat=True))
        return super().delete(*args, **options)
