"""Deletes the oldest events of the audit log and records that in an event."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from chatapp.db.locks import only_one_process
from chatapp.models.audit import keys
from chatapp.models.audit.events import AuditDetail, AuditEvent, AuditHead
from chatapp.models.audit.recording import append, lock_head, sign
from chatapp.models.audit.verifying import LOCK

AT_ONCE = 5000


@dataclass(frozen=True)
class PruneResult:
    events: int
    to: int  # the last event ever deleted, or 0


def prune(before: datetime) -> PruneResult:
    """Delete the oldest events, up to the first one at or after `before`.

    The events after that one are kept even if their time is earlier because the clock was set back.
    The prune is recorded first. Then the events are deleted in batches, so that appending never
    waits long. If it fails midway, they count as deleted, and the next prune deletes the rest.
    """
    with only_one_process(LOCK):
        count = _record_prune(before)
        to = AuditHead.objects.get().pruned_to if count is not None else 0
        while _delete_some(to):
            pass
    return PruneResult(count or 0, to)


@transaction.atomic
def _record_prune(before: datetime) -> int | None:
    """Record the prune and return how many events it deletes; None if the log is empty."""
    head = lock_head()
    if not head.sequence:
        return None
    remaining_events = AuditEvent.objects.filter(at__gte=before, sequence__gt=head.pruned_to)
    first = remaining_events.order_by("sequence").first()
    to = first.sequence - 1 if first else head.sequence
    if not (count := to - head.pruned_to):
        return 0
    detail = {"events": count, "before": before}
    append("log.pruned", target_type="auditevent", target=str(to), detail=detail)
    head = AuditHead.objects.get()
    head.pruned_to = to
    sign(head, keys.load_signing_key())
    head.save()
    return count


@transaction.atomic
def _delete_some(to: int) -> int:
    pruned = AuditEvent.objects.filter(sequence__lte=to).order_by("sequence")
    pks = list(pruned.values_list("pk", flat=True)[:AT_ONCE])
    if pks:
        AuditDetail.objects.filter(event_id__lte=pks[-1]).delete()
        AuditEvent.objects.filter(sequence__lte=pks[-1]).delete()
    return len(pks)
