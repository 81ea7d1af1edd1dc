"""Who watches what: the tabs of this process, and the audience of each reply.

A viewer is one browser tab on one socket. It shows a conversation at a time, and waits for every
reply that began while it showed its conversation, wherever it has moved since. Knows neither what
writes a reply nor where else it is watched: an audience takes any `Watcher`.
"""

from chatapp.viewers.audience import WRITE, Audience, Viewer, Watcher, Write, show_to
from chatapp.viewers.viewers import Showing, Viewers

__all__ = ["WRITE", "Audience", "Showing", "Viewer", "Viewers", "Watcher", "Write", "show_to"]
