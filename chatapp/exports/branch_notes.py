"""Says where the messages of a chat with several branches belong, when they are in one column."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from chatapp.exports.reading import MessageRef
from chatapp.models import Message


class BranchNotes:
    """Numbers the messages of a chat in their order, if it has several branches."""

    def __init__(self, refs: Sequence[MessageRef]) -> None:
        exported = {ref.message for ref in refs}
        parents = [ref.parent if ref.parent in exported else None for ref in refs]
        self._totals = Counter(parents)
        self.has_branches = any(total > 1 for total in self._totals.values())
        self._numbers: dict[UUID | None, int] = {}
        self._versions: Counter[UUID | None] = Counter()
        self._above: UUID | None = None

    def build_note(self, message: Message) -> str:
        """Return the note for the next message: its number, version, and what it follows."""
        if not self.has_branches:
            return ""
        number = len(self._numbers) + 1
        self._numbers[message.pk] = number
        parent = message.parent_id if message.parent_id in self._numbers else None
        self._versions[parent] += 1
        parts = [f"Message {number}"]
        if (total := self._totals[parent]) > 1:
            parts.append(f"version {self._versions[parent]} of {total}")
        if parent and parent != self._above:
            parts.append(f"follows message {self._numbers[parent]}")
        self._above = message.pk
        return ", ".join(parts)
