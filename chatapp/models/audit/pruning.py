"""The log's beginning is deleted; an event says so, with which the chain goes on."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from chatapp.models.audit import keys
from chatapp.models.audit.events import AuditDetail, AuditEvent, AuditHead
from chatapp.models.audit.recording import append, locked_head, sign
from chatapp.models.audit.verifying import LOCK
from chatapp.models.locks import only_one_process

AT_ONCE = 5000


@dataclass(frozen=True)
class Pruned:
    events: int
    to: int  # the last one that went; 0 where none ever did


def prune(before: datetime) -> Pruned:
    """Deletes the events from the first on, up to the first that is not of before this moment.

    A clock may have stepped back: what follows that one stays, whatever it says of the time. Once
    it is said that they go, they go bit by bit, so that nobody waits long to append another; where
    it fails midway, they count as gone, and the next prune takes what is left of them.
    """
    with only_one_process(LOCK):
        count = _say(before)
        to = AuditHead.objects.get().pruned_to if count is not None else 0
        while _delete_some(to):
            pass
    return Pruned(count or 0, to)


@transaction.atomic
def _say(before: datetime) -> int | None:
    """How many go; None where there is no log."""
    head = locked_head()
    if not head.sequence:
        return None
    kept = AuditEvent.objects.filter(at__gte=before, sequence__gt=head.pruned_to)
    first = kept.order_by("sequence").first()
    to = first.sequence - 1 if first else head.sequence
    if not (count := to - head.pruned_to):
        return 0
    said = {"events": count, "before": before}
    append("log.pruned", target_type="auditevent", target=str(to), detail=said)
    head = AuditHead.objects.get()
    head.pruned_to = to
    sign(head, keys.signing())
    head.save()
    return count


@transaction.atomic
def _delete_some(to: int) -> int:
    going = AuditEvent.objects.filter(sequence__lte=to).order_by("sequence")
    pks = list(going.values_list("pk", flat=True)[:AT_ONCE])
    if pks:
        AuditDetail.objects.filter(event_id__lte=pks[-1]).delete()
        AuditEvent.objects.filter(sequence__lte=pks[-1]).delete()
    return len(pks)
