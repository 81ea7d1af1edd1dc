"""The browser tabs of this process, and the audience of each reply.

A viewer is one browser tab on one socket. It shows one conversation at a time, and waits for every
reply that started while it showed that reply's conversation, even after it has moved to another.
This package does not know what writes a reply or which other processes watch it: an audience
accepts any `Watcher`.

Imports `concurrency` and nothing else of the app.
"""

from chatapp.realtime.viewers.audience import WRITE, Audience, Viewer, Watcher, Write, show_to
from chatapp.realtime.viewers.viewers import Showing, Viewers

__all__ = ["WRITE", "Audience", "Showing", "Viewer", "Viewers", "Watcher", "Write", "show_to"]
