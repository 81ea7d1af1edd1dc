"""Writes replies to this host's disk as they arrive, so that kill -9 loses none of their text.

Each process has a folder in `DATA_DIR/journal`, which it keeps locked while it lives, with one file
per reply. Every read from the upstream is appended, in one write, before any tab shows it. The page
cache outlives the process, so nothing waits for the disk. The file is deleted when the reply is
saved. If a process dies, another process of the host finds its folder unlocked, at once or when it
starts, and completes the replies from their files.

If the journal can't be written (a full or read-only disk), one line is logged and replies go on
with the database's checkpoints. Files are read as untrusted input.

Imports `models`, `upstream.wire` and nothing else of the app.
"""

from chatapp.realtime.journal.recovery import CompletedReply, complete_lost_replies
from chatapp.realtime.journal.writing import Journal, Segment

__all__ = ["CompletedReply", "Journal", "Segment", "complete_lost_replies"]
