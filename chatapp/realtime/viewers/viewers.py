"""The viewers of this process, and the conversation that each of them shows."""

from collections import Counter
from collections.abc import Iterator
from uuid import UUID
from weakref import WeakValueDictionary

from chatapp.realtime.viewers.audience import Viewer, Watcher


class Showing(set[Viewer]):
    """The viewers that show one conversation. Shared by all who hold a reference to it.

    `followers` get the frames of its replies, too, but no reply runs for them.
    """

    changes = 0  # how often the conversation was renamed or deleted

    def __init__(self) -> None:
        super().__init__()
        self.followers: set[Watcher] = set()


class Viewers:
    def __init__(self) -> None:
        self._shown: dict[Viewer, tuple[UUID, Showing] | None] = {}
        self._people: Counter[int] = Counter()
        self._showing: WeakValueDictionary[UUID, Showing] = WeakValueDictionary()
        self._followed: dict[Watcher, tuple[UUID, Showing]] = {}

    def __iter__(self) -> Iterator[Viewer]:
        return iter(list(self._shown))

    def __len__(self) -> int:
        return len(self._shown)

    def __contains__(self, viewer: Viewer) -> bool:
        return viewer in self._shown

    def count_for_user(self, user: int) -> int:
        """Return the number of a user's viewers."""
        return self._people[user]

    def for_user(self, user: int) -> list[Viewer]:
        """Return a user's viewers."""
        return [viewer for viewer in self._shown if viewer.user_id == user]

    def add(self, viewer: Viewer) -> None:
        self._shown[viewer] = None
        self._people[viewer.user_id] += 1

    def remove(self, viewer: Viewer) -> None:
        self.show(viewer, None)
        del self._shown[viewer]
        self._people[viewer.user_id] -= 1
        if not self._people[viewer.user_id]:
            del self._people[viewer.user_id]

    def show(self, viewer: Viewer, conversation: UUID | None) -> None:
        """Record that `viewer` shows this conversation, or none."""
        if before := self._shown.get(viewer):
            before[1].discard(viewer)
        self._shown[viewer] = None
        if conversation:
            showing = self.showing(conversation)
            showing.add(viewer)
            self._shown[viewer] = conversation, showing

    def get_conversation(self, viewer: Viewer) -> UUID | None:
        entry = self._shown.get(viewer)
        return entry[0] if entry else None

    def showing(self, conversation: UUID) -> Showing:
        """Return the live set of the viewers that show the conversation."""
        return self._showing.setdefault(conversation, Showing())

    def follow(self, follower: Watcher, conversation: UUID) -> None:
        """Let `follower` get the frames of the replies in this conversation."""
        showing = self.showing(conversation)
        showing.followers.add(follower)
        self._followed[follower] = conversation, showing

    def unfollow(self, follower: Watcher) -> None:
        if entry := self._followed.pop(follower, None):
            entry[1].followers.discard(follower)

    def conversations(self) -> set[UUID]:
        """Return the conversations shown or followed here. Safe in any thread."""
        conversations = {entry[0] for entry in list(self._shown.values()) if entry}
        return conversations | {entry[0] for entry in list(self._followed.values())}
