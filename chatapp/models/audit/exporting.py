"""The log as plain values, event by event, for whoever keeps a copy of it elsewhere."""

from typing import Any

from chatapp.models.audit.events import AuditEvent
from chatapp.models.audit.verifying import some_between


def some_lines(after: int, last: int) -> list[dict[str, Any]]:
    """Oldest first, as many as may be at once; with all that the chain is made of."""
    return [line(event) for event in some_between(after, last)]


def line(event: AuditEvent) -> dict[str, Any]:
    """`detail` is None where there is none; `erased` says of an empty one that it once was."""
    detail = getattr(event, "detail", None)
    said = event.said._asdict() | {"at": event.at.isoformat(), "mac": event.mac}
    if detail is None:
        return said | {"detail": None}
    if detail.is_erased:
        return said | {"detail": None, "erased": True}
    return said | {"detail": detail.said, "salt": detail.salt}
