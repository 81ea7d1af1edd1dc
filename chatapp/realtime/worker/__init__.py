"""The worker of this process: the replies it runs, the viewers it serves, and its peers.

`worker()` returns it. Each of its parts does one thing: `replies` runs and checkpoints streaming
replies, `event_dispatcher` handles events from other workers and the database, `revocation` closes
tabs and replies of people who lost access, and `draining` shuts everything down in order.

Imports all other packages of `realtime`, and what is below `realtime`.
"""

from chatapp.realtime.worker.current import (
    list_changed,
    recheck_access,
    schedule_purge,
    shut_down,
    start_worker,
    worker,
)
from chatapp.realtime.worker.process import Worker

__all__ = [
    "Worker",
    "list_changed",
    "recheck_access",
    "schedule_purge",
    "shut_down",
    "start_worker",
    "worker",
]
