"""Readers of live shared chats: they get what their link shows, and keep no reply running.

`SharedView` is one link in this process: it follows the chat, leaves out what the link hides, and
sends the rest to all readers. `Readers` opens and closes these, and closes readers who have lost
access.

Imports `realtime.cluster`, `realtime.generation`, `rendering`, `sessions` and what is below these.
"""

from chatapp.realtime.readers.readers import Readers
from chatapp.realtime.readers.shared_view import Reader, SharedView

__all__ = ["Reader", "Readers", "SharedView"]
