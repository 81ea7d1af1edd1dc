"""What an upstream is sent of a branch.

A conversation may have thousands of messages, and all of them are sent for each turn. So of most of
them there is no object of the ORM: who says it and what are enough. And a process remembers what it
has read of long branches; the next turn reads what came since. That holds for as long as the branch
stands: no text changes once its reply has ended, and all below a deleted message is deleted.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple, cast
from uuid import UUID

from chatapp.models import branches
from chatapp.models.messages import Message, plain_chat_messages
from chatapp.models.statements import Among, rows
from chatapp.upstream.wire.dialects import ChatMessage
from chatapp.upstream.wire.history import NOTHING, History

FEW = 16  # messages: a shorter branch is not worth remembering
REMEMBERED_BYTES = 32 * 1024**2  # of texts, of all branches
# Whoever was taken for dead over a reply may come back to it, with more of its text than is stored.
COLUMNS = """
  {of}.id, {of}.parent_id, {of}.role, {of}.is_continuation, {of}.content, {of}.refusal,
  {of}.earlier_rounds != '[]' AS has_rounds, {of}.ending IN ('streaming', 'interrupted') AS may_grow
"""
NEWEST = f"""
  newest AS (
    SELECT {COLUMNS.format(of="last")}, 0 AS place FROM chatapp_message AS last
    WHERE last.id = {{end}} AND last.deleted_at IS NULL
    UNION ALL
    SELECT {COLUMNS.format(of="above")}, place + 1
    FROM newest JOIN chatapp_message AS above ON above.id = newest.parent_id
    WHERE place < {FEW - 1} AND above.deleted_at IS NULL
  )
SELECT * FROM newest ORDER BY place
"""  # noqa: S608 - our own
NEWEST_OF_BRANCH = f"{branches.START}, {NEWEST.format(end=f'({branches.TO_END})')}"
NEWEST_UNTIL = f"WITH RECURSIVE {NEWEST.format(end='%s')}"
# What stands in other branches is read along: that takes half as long as to go up this one.
ALL = f"""
SELECT {COLUMNS.format(of="there")} FROM chatapp_message AS there
WHERE conversation_id = %s AND deleted_at IS NULL
"""  # noqa: S608 - our own


class Said(NamedTuple):
    """A message of a branch, as the database has it."""

    stored_pk: object
    stored_parent: object
    role: str
    is_continuation: bool
    content: str
    refusal: str
    has_rounds: bool  # of calls of tools
    may_grow: bool

    @property
    def pk(self) -> UUID:
        return branches.uuid_of(self.stored_pk)


class Branch(NamedTuple):
    """A branch up to one of its messages."""

    end: UUID | None = None  # that message; None in an empty one
    length: int = 0  # in messages
    plain: History = NOTHING  # of those before the first in which tools were called
    # What is sent of those depends on who is asked, so they are whole.
    others: "Sequence[ChatMessage | Message]" = ()

    def history(self, asked: Message | None = None) -> History:
        """What is sent of it, for the reply that is asked for."""
        others = [sent for one in self.others for sent in _sent(one, asked)]
        return self.plain.followed_by(History.of(others))

    def followed_by(self, messages: Sequence[Said]) -> "Branch":
        """Oldest first."""
        if not messages:
            return self
        calling = [one.pk for one in messages if one.has_rounds]
        whole = {message.pk: message for message in _WHOLE.all(calling)}
        more: list[ChatMessage | Message] = []
        for one in messages:
            more += [whole[one.pk]] if one.has_rounds else plain_chat_messages(one)
        end, length = messages[-1].pk, self.length + len(messages)
        if self.others or whole:
            return Branch(end, length, self.plain, [*self.others, *more])
        sent = cast("list[ChatMessage]", more)
        return Branch(end, length, self.plain.followed_by(History.of(sent)))


class _Remembered:
    """Branches by their end, as the database has it: those that were used last."""

    def __init__(self) -> None:
        self._branches: OrderedDict[object, Branch] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, end: object) -> Branch | None:
        with self._lock:
            if found := self._branches.get(end):
                self._branches.move_to_end(end)
            return found

    def put(self, end: object, branch: Branch, instead_of: object) -> None:
        with self._lock:
            self._drop(instead_of)
            self._drop(end)
            self._branches[end] = branch
            self._bytes += branch.plain.text_bytes
            while self._bytes > REMEMBERED_BYTES:
                self._drop(next(iter(self._branches)))

    def _drop(self, end: object) -> None:
        if branch := self._branches.pop(end, None):
            self._bytes -= branch.plain.text_bytes


_remembered = _Remembered()


def said(conversation: UUID, through: UUID | None, leaf: UUID | None) -> Branch:
    """All of a branch. `leaf` is the message that was read last."""
    values = branches.start_values(conversation, through, leaf)
    return _branch(conversation, rows(NEWEST_OF_BRANCH, values))


def said_until(conversation: UUID, message: UUID | None) -> Branch:
    """What leads to this message, itself included."""
    return _branch(conversation, rows(NEWEST_UNTIL, [message])) if message else Branch()


def _branch(conversation: UUID, newest: Sequence[Any]) -> Branch:
    newer = [Said(*columns) for *columns, _ in newest]
    known, instead_of = Branch(), None
    for place, one in enumerate(newer):
        if found := _remembered.get(one.stored_pk):
            known, instead_of, newer = found, one.stored_pk, newer[:place]
            break
    else:
        if len(newer) == FEW:
            newer = _upwards(newer[0].stored_pk, rows(ALL, [conversation]))
    branch = known.followed_by(newer[::-1])
    is_whole = not branch.others and not any(one.may_grow for one in newer)
    if newer and is_whole and branch.length >= FEW:
        _remembered.put(newer[0].stored_pk, branch, instead_of)
    return branch


def _upwards(end: object, there: Sequence[Any]) -> list[Said]:
    """Those of these rows that lead from the end up to the first prompt."""
    by_pk = {row[0]: row for row in there}
    branch = []
    while row := by_pk.get(end):
        branch.append(Said(*row))
        end = row[1]
    return branch


def _sent(one: "ChatMessage | Message", asked: Message | None) -> Iterable[ChatMessage]:
    return one.as_chat_messages(asked) if isinstance(one, Message) else [one]


_WHOLE = Among(
    lambda *pks: Message.objects.filter(pk__in=pks).only(*Message.SAID).order_by(),
    Message._meta.pk,
)
