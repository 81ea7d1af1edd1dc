"""Apply `Retention`: delete what is due, in rounds of short steps, each its own transaction.

Across all processes one step runs at a time. It locks the person's row, as every deletion does, and
checks again what it is about to delete, so a new legal hold or a new prompt still keeps it.
"""

from collections import Counter
from contextlib import suppress
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Max

from chatapp.db.locks import one_at_a_time
from chatapp.models import audit
from chatapp.models.audit import AuditDetail
from chatapp.models.conversations.chats.folders import PURGE_LOCK
from chatapp.models.conversations.messages.images import ReplyImage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads import ledger
from chatapp.models.files.attachments import Attachment
from chatapp.models.policies.legal_holds import UnderLegalHold, lock_people, refuse_held
from chatapp.models.retention.periods import Retention

MAX_STEPS = 5000  # per round
IMAGES_AT_ONCE = FILES_AT_ONCE = 100
DETAILS_AT_ONCE = 1000
COUNT_NAMES = {
    "chatapp.Conversation": "conversations",
    "chatapp.Message": "messages",
    "chatapp.ReplyImage": "images",
    "chatapp.Attachment": "files",
}


class RetentionRun:
    """Call `step` until it returns False, then `record`.

    Each step reads the settings again, so withdrawing a rule stops a running round.
    """

    def __init__(self) -> None:
        self.gone: Counter[str] = Counter()  # conversations, messages, images, files, details
        self.erased: list[tuple[int, UUID]] = []  # (owner, conversation)
        self._left = MAX_STEPS
        self._details_to: int | None = None  # the last event that the audit log announced

    def step(self) -> bool:
        """Delete one portion; return whether there may be more."""
        if not self._left:
            return False
        self._left -= 1
        retention = Retention.now()
        return (
            self._erase_conversation(retention)
            or self._delete_images(retention)
            or self._delete_files(retention)
            or self._empty_details(retention)
        )

    @transaction.atomic
    def record(self) -> None:
        """Write the counts to the audit log, except for its own details, which were announced
        before they were emptied."""
        counts = {kind: count for kind, count in self.gone.items() if kind != "details"}
        if counts:
            audit.record("retention.applied", actor=None, detail=counts)

    def _erase_conversation(self, retention: Retention) -> bool:
        """Erase one conversation, or as much of it as fits a step, as `Conversation.erase` does."""
        while ledger.complete():
            pass
        due = retention.deletable_conversations().order_by("updated_at", "id").first()
        if due is None:
            return False
        rows: Counter[str] = Counter()
        with suppress(UnderLegalHold), transaction.atomic(), one_at_a_time(PURGE_LOCK):
            refuse_held(due.user_id, due.pk)
            still = retention.due_conversations().filter(pk=due.pk).order_by()
            if conversation := still.select_for_update(of=("self",)).first():
                rows = conversation.erase_newest() or Counter(conversation.delete()[1])
            if rows["chatapp.Conversation"]:
                self.erased.append((due.user_id, due.pk))
        for model, name in COUNT_NAMES.items():
            self._count(name, rows[model])
        return True

    def _delete_images(self, retention: Retention) -> bool:
        """Delete some images, and note in their replies that there were some."""
        with transaction.atomic(), one_at_a_time(PURGE_LOCK):
            going = retention.deletable_images().order_by("message_id")
            owners = going.values_list("message", "message__conversation__user")
            batch = dict(owners[:IMAGES_AT_ONCE])
            lock_people(list(set(batch.values())))
            images = dict(going.filter(message__in=batch).values_list("pk", "message"))
            ReplyImage.objects.filter(pk__in=images).delete()
            for reply in Message.objects.filter(pk__in=set(images.values())).only("extras_record"):
                record = reply.extras.without_images().as_record()
                Message.objects.filter(pk=reply.pk).update(extras_record=record)
        self._count("images", len(images))
        return bool(batch)

    def _delete_files(self, retention: Retention) -> bool:
        """Delete the content of some attachments, whose prompts keep their names."""
        with transaction.atomic(), one_at_a_time(PURGE_LOCK):
            going = retention.deletable_files().order_by("pk")
            batch = dict(going.values_list("pk", "user")[:FILES_AT_ONCE])
            lock_people(list(set(batch.values())))
            still = Attachment.objects.filter(pk__in=going.filter(pk__in=batch).values("pk"))
            count = still.expire()
        self._count("files", count)
        return bool(batch)

    def _empty_details(self, retention: Retention) -> bool:
        """Empty some audit details, as `audit.forget` does, so that the hash chain stays valid."""
        if self._details_to is None and not self._announce_details(retention):
            return False
        with transaction.atomic(), one_at_a_time(PURGE_LOCK):
            going = retention.deletable_details().filter(pk__lte=self._details_to).order_by("pk")
            named = going.values_list("pk", "event__person", "event__actor")
            batch = list(named[:DETAILS_AT_ONCE])
            lock_people(
                list({person for _, *people in batch for person in people if person is not None})
            )
            still = list(going.filter(pk__in=[pk for pk, *_ in batch]).values_list("pk", flat=True))
            AuditDetail.objects.filter(pk__in=still).update(content="", salt="")
        self._count("details", len(still))
        return bool(batch)

    def _announce_details(self, retention: Retention) -> bool:
        """Log which details will be emptied. It has its own transaction, since writing an event
        locks the audit log until the transaction ends."""
        with transaction.atomic():
            totals = retention.deletable_details().aggregate(to=Max("pk"), count=Count("pk"))
            if totals["count"]:
                audit.record_emptying(**totals)
        self._details_to = totals["to"]
        return bool(totals["count"])

    def _count(self, kind: str, count: int) -> None:
        if count:
            self.gone[kind] += count
