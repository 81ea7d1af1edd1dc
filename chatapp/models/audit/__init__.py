"""The audit log: what staff do and read, and what touches accounts, written where it happens.

Call `record` in the transaction of what is done: where the event can't be written, it is not done.
An event is never changed, and the chain tells where somebody did it all the same: `verify` finds
it. What names people stands apart, so that it can be erased and the chain still holds.

Imports other modules of `models`, and `logs`.
"""

from chatapp.models.audit import triggers  # noqa: F401 - what it does after a migration
from chatapp.models.audit.actions import ACTIONS
from chatapp.models.audit.erasing import forget, say_emptied
from chatapp.models.audit.events import AuditDetail, AuditEvent, AuditHead
from chatapp.models.audit.pruning import Pruned, prune
from chatapp.models.audit.recording import record
from chatapp.models.audit.verifying import Broken, Head, Verdict, check_some, head_now, verify

__all__ = [
    "ACTIONS",
    "AuditDetail",
    "AuditEvent",
    "AuditHead",
    "Broken",
    "Head",
    "Pruned",
    "Verdict",
    "check_some",
    "forget",
    "head_now",
    "prune",
    "record",
    "say_emptied",
    "verify",
]
