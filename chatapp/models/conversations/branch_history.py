"""The history that an upstream is sent for a branch.

Every turn sends all messages of its branch, which may be thousands. So most are read as plain rows
of role and text, not as model instances, and each process caches the long branches that it has
read; the next turn reads only what is new. Text does not change once a reply has ended, and
everything below a deleted message is deleted too. So a cached branch is out of date only if
retention has deleted one of its files, or if something else of its conversation is left out (see
`context_cuts`). What is left out is not read.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple, cast
from uuid import UUID

from chatapp.db.statements import PreparedIn, rows
from chatapp.models.conversations import branches
from chatapp.models.conversations.context_cuts import NO_CUTS, ContextCut, Cuts
from chatapp.models.conversations.messages import Message
from chatapp.models.conversations.plain_messages import plain_chat_messages
from chatapp.models.files.attachments import count_present, parts_by_message
from chatapp.upstream.wire.dialects import ChatMessage
from chatapp.upstream.wire.history import NOTHING, History

FEW = 16  # messages; a shorter branch is not cached
REMEMBERED_BYTES = 32 * 1024**2  # of text, over all cached branches
# An interrupted reply may grow too: a process that was taken for dead can still save more text.
COLUMNS = """
  {of}.id, {of}.parent_id, {of}.role, {of}.is_continuation, {of}.content, {of}.refusal,
  {of}.earlier_rounds != '[]' AS has_rounds, {of}.file_count,
  {of}.ending IN ('streaming', 'interrupted') AS may_grow
"""
NEWEST = f"""
  newest AS (
    SELECT {COLUMNS.format(of="last")}, 0 AS depth FROM chatapp_message AS last
    WHERE last.id = {{end}} AND last.deleted_at IS NULL
    UNION ALL
    SELECT {COLUMNS.format(of="above")}, depth + 1
    FROM newest JOIN chatapp_message AS above ON above.id = newest.parent_id
    WHERE depth < {FEW - 1} AND above.deleted_at IS NULL
  )
SELECT * FROM newest ORDER BY depth
"""  # noqa: S608 - our own
NEWEST_OF_BRANCH = f"{branches.START}, {NEWEST.format(end=f'({branches.TO_END})')}"
NEWEST_UNTIL = f"WITH RECURSIVE {NEWEST.format(end='%s')}"
# Reads the other branches as well, which takes half as long as walking up this one.
ALL = f"""
SELECT {COLUMNS.format(of="there")} FROM chatapp_message AS there
WHERE conversation_id = %s AND deleted_at IS NULL
"""  # noqa: S608 - our own


class BranchMessage(NamedTuple):
    """A message of a branch, as the database returns it."""

    stored_pk: object
    stored_parent: object
    role: str
    is_continuation: bool
    content: str
    refusal: str
    has_rounds: bool  # with tool calls
    file_count: int
    may_grow: bool

    @property
    def pk(self) -> UUID:
        return branches.uuid_of(self.stored_pk)


class BranchHistory(NamedTuple):
    """A branch up to one of its messages."""

    end: UUID | None = None  # that message; None if the branch is empty
    length: int = 0  # in messages
    plain: History = NOTHING  # the messages before the first one with tool calls
    # The rest: what is sent of messages with tool calls depends on the model, so those are whole.
    others: "Sequence[ChatMessage | Message]" = ()
    with_files: tuple[UUID, ...] = ()  # messages
    present_files: int = 0  # that had not expired
    cut: ContextCut | None = None  # that leaves out what was before
    cut_changes: int = 0  # of the conversation's cuts

    def is_current(self, cuts: Cuts) -> bool:
        """Whether no file has expired since, and the same is left out."""
        if self.cut_changes != cuts.changes:
            return False
        return not self.with_files or count_present(self.with_files) == self.present_files

    @classmethod
    def after(cls, cuts: Cuts, message: UUID | None) -> "BranchHistory":
        """Return the branch up to a message with a cut, or the empty one if it is None."""
        cut = cuts.by_message.get(message)
        plain = cut.history if cut else NOTHING
        return cls(end=message, plain=plain, cut=cut, cut_changes=cuts.changes)

    def history(self, asked: Message | None = None) -> History:
        """Return what is sent of the branch for the reply `asked`."""
        others = [sent for one in self.others for sent in _sent(one, asked)]
        return self.plain.followed_by(History.of(others))

    def followed_by(self, messages: Sequence[BranchMessage]) -> "BranchHistory":
        """Return the branch with further messages appended, oldest first."""
        if not messages:
            return self
        calling = [one.pk for one in messages if one.has_rounds]
        whole = {message.pk: message for message in _WHOLE.all(calling)}
        for calls in whole.values():
            _ = calls.tool_images  # read now, because the event loop can't
        with_files = [one.pk for one in messages if one.file_count]
        present = count_present(with_files) if with_files else 0
        files = parts_by_message(with_files) if with_files else {}
        known = self._replace(
            end=messages[-1].pk,
            length=self.length + len(messages),
            with_files=(*self.with_files, *with_files),
            present_files=self.present_files + present,
        )
        more: list[ChatMessage | Message] = []
        for message in messages:
            if message.has_rounds:
                more.append(whole[message.pk])
            else:
                more += plain_chat_messages(message, files.get(message.pk, ()))
        if self.others or whole:
            return known._replace(others=[*self.others, *more])
        sent = cast("list[ChatMessage]", more)
        return known._replace(plain=self.plain.followed_by(History.of(sent)))


class _Remembered:
    """A cache of branches by their last message's stored key; the least recently used go first."""

    def __init__(self) -> None:
        self._branches: OrderedDict[object, BranchHistory] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, end: object) -> BranchHistory | None:
        with self._lock:
            if found := self._branches.get(end):
                self._branches.move_to_end(end)
            return found

    def put(self, end: object, branch: BranchHistory, instead_of: object) -> None:
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


def branch_history(
    conversation: UUID, through: UUID | None, leaf: UUID | None, cuts: Cuts = NO_CUTS
) -> BranchHistory:
    """Return a whole branch. `leaf` is the message that was read last."""
    values = branches.start_values(conversation, through, leaf)
    return _branch(conversation, rows(NEWEST_OF_BRANCH, values), cuts)


def branch_history_until(
    conversation: UUID, message: UUID | None, cuts: Cuts = NO_CUTS
) -> BranchHistory:
    """Return the branch up to this message, inclusive."""
    newest = rows(NEWEST_UNTIL, [message]) if message else []
    return _branch(conversation, newest, cuts)


def _branch(conversation: UUID, newest: Sequence[Any], cuts: Cuts) -> BranchHistory:
    newer = [BranchMessage(*columns) for *columns, _ in newest]
    known, instead_of, is_found = BranchHistory.after(cuts, None), None, False
    for index, one in enumerate(newer):
        if cuts.changes and one.pk in cuts.by_message:
            known, newer, is_found = BranchHistory.after(cuts, one.pk), newer[:index], True
        elif (found := _remembered.get(one.stored_pk)) and found.is_current(cuts):
            known, instead_of, newer, is_found = found, one.stored_pk, newer[:index], True
        if is_found:
            break
    if len(newer) == FEW and not is_found:
        newer = _upwards(newer[0].stored_pk, rows(ALL, [conversation]))
        for index, one in enumerate(newer if cuts.changes else ()):
            if one.pk in cuts.by_message:
                known, newer = BranchHistory.after(cuts, one.pk), newer[:index]
                break
    branch = known.followed_by(newer[::-1])
    is_whole = not branch.others and not any(one.may_grow for one in newer)
    if newer and is_whole and branch.length >= FEW:
        _remembered.put(newer[0].stored_pk, branch, instead_of)
    return branch


def _upwards(end: object, stored: Sequence[Any]) -> list[BranchMessage]:
    """Return the rows on the path from `end` up to the first prompt."""
    by_pk = {row[0]: row for row in stored}
    branch = []
    while row := by_pk.get(end):
        branch.append(BranchMessage(*row))
        end = row[1]
    return branch


def _sent(one: "ChatMessage | Message", asked: Message | None) -> Iterable[ChatMessage]:
    return one.as_chat_messages(asked) if isinstance(one, Message) else [one]


_WHOLE = PreparedIn(
    lambda *pks: Message.objects.filter(pk__in=pks).only(*Message.SAID).order_by(),
    Message._meta.pk,
)
