"""This process: the replies it runs, the viewers it serves, its company of other workers.

`worker()` is the one of this process. Its parts each do one thing: `replies` runs what streams and
saves it in part, `hearing` acts on what other workers and the database tell, `revocation` closes
what may not go on, `draining` ends it all in order.
"""

from chatapp.worker.current import begin_as, has_to_delete, look_again_at, shut_down, worker
from chatapp.worker.process import Worker

__all__ = ["Worker", "begin_as", "has_to_delete", "look_again_at", "shut_down", "worker"]
