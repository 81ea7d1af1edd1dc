"""Exports events of the audit log as plain values, for copies elsewhere."""

from typing import Any

from chatapp.models.audit.events import AuditEvent
from chatapp.models.audit.verifying import read_batch


def export_batch(after: int, last: int) -> list[dict[str, Any]]:
    """Return the next batch after event `after`, oldest first, with all fields of the chain."""
    return [line(event) for event in read_batch(after, last)]


def line(event: AuditEvent) -> dict[str, Any]:
    """Return one event; `detail` is None if there is none, with `erased` if there once was one."""
    detail = getattr(event, "detail", None)
    fields = event.fields._asdict() | {"at": event.at.isoformat(), "mac": event.mac}
    if detail is None:
        return fields | {"detail": None}
    if detail.is_erased:
        return fields | {"detail": None, "erased": True}
    return fields | {"detail": detail.values, "salt": detail.salt}
