"""The audit log: what staff do and read, and what affects accounts.

Call `record` in the transaction of the action, so that an action whose event can't be written is
not done. Events are never changed; if somebody changes one anyway, `verify` finds it by the hash
chain. Names of people are stored apart from the events, so that they can be erased without breaking
the chain.

Imports other modules of `models`, and `logs`.
"""

from chatapp.models.audit import triggers  # noqa: F401 - connects a signal handler
from chatapp.models.audit.actions import ACTIONS
from chatapp.models.audit.erasing import forget, say_emptied
from chatapp.models.audit.events import AuditDetail, AuditEvent, AuditHead
from chatapp.models.audit.pruning import Pruned, prune
from chatapp.models.audit.recording import record
from chatapp.models.audit.verifying import Broken, Head, VerifiedLog, check_some, head_now, verify

__all__ = [
    "ACTIONS",
    "AuditDetail",
    "AuditEvent",
    "AuditHead",
    "Broken",
    "Head",
    "Pruned",
    "VerifiedLog",
    "check_some",
    "forget",
    "head_now",
    "prune",
    "record",
    "say_emptied",
    "verify",
]
