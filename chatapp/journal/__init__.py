"""What arrives of replies, on this host's own disk, so that kill -9 loses none of it.

Each process has a folder in `DATA_DIR/journal`, which it holds locked for as long as it lives, and
in it a file a reply: what came from the upstream is appended, a write for each read, before any tab
is shown it. The page cache outlives the process, so nothing waits for a disk. The file goes when
the reply is saved. Where a process died, whoever finds its folder unlocked completes its replies
from what is there: another process of the host at once, or the next that starts.

A journal that can't be written (a full disk, a read-only one) costs a line in the log and nothing
else; the checkpoints in the database go on. Files are read as if anybody had written them.
"""

from chatapp.journal.recovery import Completed, complete_lost_replies
from chatapp.journal.writing import Journal, Segment

__all__ = ["Completed", "Journal", "Segment", "complete_lost_replies"]
