"""The audit log: what staff do and read, and what affects accounts.

Call `record` in the transaction of the action, so that an action whose event can't be written is
not done. Events are never changed; if somebody changes one anyway, `verify` finds it by the hash
chain. Names of people are stored apart from the events, so that they can be erased without breaking
the chain.

Imports other modules of `models`, and `logs`.
"""

from chatapp.models.audit import triggers  # noqa: F401 - connects a signal handler
from chatapp.models.audit.actions import ACTIONS
from chatapp.models.audit.erasing import forget, record_emptying
from chatapp.models.audit.events import AuditDetail, AuditEvent, AuditHead
from chatapp.models.audit.pruning import PruneResult, prune
from chatapp.models.audit.recording import record
from chatapp.models.audit.verifying import (
    Broken,
    Head,
    VerifiedLog,
    check_events,
    read_head,
    verify,
)

__all__ = [
    "ACTIONS",
    "AuditDetail",
    "AuditEvent",
    "AuditHead",
    "Broken",
    "Head",
    "PruneResult",
    "VerifiedLog",
    "check_events",
    "forget",
    "prune",
    "read_head",
    "record",
    "record_emptying",
    "verify",
]
