"""The tabs of this process, and which conversation each of them shows."""

from collections import Counter
from collections.abc import Iterator
from uuid import UUID
from weakref import WeakValueDictionary

from chatapp.generation.audience import Tab


class Showing(set[Tab]):
    """The tabs that show one conversation; kept for as long as anybody has it."""


class Tabs:
    def __init__(self) -> None:
        self._shown: dict[Tab, tuple[UUID, Showing] | None] = {}
        self._people: Counter[int] = Counter()
        self._showing: WeakValueDictionary[UUID, Showing] = WeakValueDictionary()

    def __iter__(self) -> Iterator[Tab]:
        return iter(list(self._shown))

    def __contains__(self, tab: Tab) -> bool:
        return tab in self._shown

    def of(self, user: int) -> int:
        """How many a person has."""
        return self._people[user]

    def add(self, tab: Tab) -> None:
        self._shown[tab] = None
        self._people[tab.user_id] += 1

    def remove(self, tab: Tab) -> None:
        self.show(tab, None)
        del self._shown[tab]
        self._people[tab.user_id] -= 1
        if not self._people[tab.user_id]:
            del self._people[tab.user_id]

    def show(self, tab: Tab, conversation: UUID | None) -> None:
        """`tab` shows this conversation from now on."""
        if before := self._shown.get(tab):
            before[1].discard(tab)
        self._shown[tab] = None
        if conversation:
            showing = self.showing(conversation)
            showing.add(tab)
            self._shown[tab] = conversation, showing

    def shown_by(self, tab: Tab) -> UUID | None:
        shown = self._shown.get(tab)
        return shown[0] if shown else None

    def showing(self, conversation: UUID) -> Showing:
        """Those that show the conversation, now and later."""
        return self._showing.setdefault(conversation, Showing())

    def conversations(self) -> set[UUID]:
        """What is shown by at least one tab; may be asked from any thread."""
        return {shown[0] for shown in list(self._shown.values()) if shown}
