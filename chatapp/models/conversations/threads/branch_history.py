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

from chatapp.db.statements import PreparedIn, fetch_rows
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.messages.plain_messages import plain_chat_messages
from chatapp.models.conversations.threads import branches
from chatapp.models.conversations.threads.context_cuts import NO_CUTS, ContextCut, Cuts
from chatapp.models.files.attachments import count_present, parts_by_message
from chatapp.upstream.wire.requests.dialects import ChatMessage
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY, History

MIN_CACHED_MESSAGES = 16  # messages; a shorter branch is not cached
MAX_CACHED_BYTES = 32 * 1024**2  # of text, over all cached branches
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
    WHERE depth < {MIN_CACHED_MESSAGES - 1} AND above.deleted_at IS NULL
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
        return branches.to_uuid(self.stored_pk)


class BranchHistory(NamedTuple):
    """A branch up to one of its messages."""

    end: UUID | None = None  # that message; None if the branch is empty
    length: int = 0  # in messages
    plain: History = EMPTY_HISTORY  # the messages before the first one with tool calls
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
    def from_cut(cls, cuts: Cuts, message: UUID | None) -> "BranchHistory":
        """Return the branch up to a message with a cut, or the empty one if it is None."""
        cut = cuts.by_message.get(message)
        plain = cut.history if cut else EMPTY_HISTORY
        return cls(end=message, plain=plain, cut=cut, cut_changes=cuts.changes)

    def history(self, reply: Message | None = None) -> History:
        """Return what is sent of the branch for `reply`, which is about to be written."""
        others = [
            chat_message
            for message in self.others
            for chat_message in _build_chat_messages(message, reply)
        ]
        return self.plain.concatenate(History.of(others))

    def followed_by(self, messages: Sequence[BranchMessage]) -> "BranchHistory":
        """Return the branch with further messages appended, oldest first."""
        if not messages:
            return self
        calling = [message.pk for message in messages if message.has_rounds]
        whole = {message.pk: message for message in _FULL_MESSAGES.all(calling)}
        for calls in whole.values():
            _ = calls.tool_images  # read now, because the event loop can't
        with_files = [message.pk for message in messages if message.file_count]
        present = count_present(with_files) if with_files else 0
        files = parts_by_message(with_files) if with_files else {}
        branch = self._replace(
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
            return branch._replace(others=[*self.others, *more])
        chat_messages = cast("list[ChatMessage]", more)
        return branch._replace(plain=self.plain.concatenate(History.of(chat_messages)))


class _BranchCache:
    """A cache of branches by their last message's stored key; the least recently used go first."""

    def __init__(self) -> None:
        self._branches: OrderedDict[object, BranchHistory] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, end: object) -> BranchHistory | None:
        with self._lock:
            if branch := self._branches.get(end):
                self._branches.move_to_end(end)
            return branch

    def put(self, end: object, branch: BranchHistory, instead_of: object) -> None:
        with self._lock:
            self._drop(instead_of)
            self._drop(end)
            self._branches[end] = branch
            self._bytes += branch.plain.text_bytes
            while self._bytes > MAX_CACHED_BYTES:
                self._drop(next(iter(self._branches)))

    def _drop(self, end: object) -> None:
        if branch := self._branches.pop(end, None):
            self._bytes -= branch.plain.text_bytes


_branch_cache = _BranchCache()


def branch_history(
    conversation: UUID, through: UUID | None, leaf: UUID | None, cuts: Cuts = NO_CUTS
) -> BranchHistory:
    """Return a whole branch. `leaf` is the message that was read last."""
    values = branches.start_values(conversation, through, leaf)
    return _branch(conversation, fetch_rows(NEWEST_OF_BRANCH, values), cuts)


def branch_history_until(
    conversation: UUID, message: UUID | None, cuts: Cuts = NO_CUTS
) -> BranchHistory:
    """Return the branch up to this message, inclusive."""
    newest = fetch_rows(NEWEST_UNTIL, [message]) if message else []
    return _branch(conversation, newest, cuts)


def _branch(conversation: UUID, newest: Sequence[Any], cuts: Cuts) -> BranchHistory:
    newer = [BranchMessage(*columns) for *columns, _ in newest]
    beginning, instead_of, is_found = BranchHistory.from_cut(cuts, None), None, False
    for index, message in enumerate(newer):
        if cuts.changes and message.pk in cuts.by_message:
            beginning, newer, is_found = (
                BranchHistory.from_cut(cuts, message.pk),
                newer[:index],
                True,
            )
        elif (cached := _branch_cache.get(message.stored_pk)) and cached.is_current(cuts):
            beginning, instead_of, newer, is_found = cached, message.stored_pk, newer[:index], True
        if is_found:
            break
    if len(newer) == MIN_CACHED_MESSAGES and not is_found:
        newer = _walk_up(newer[0].stored_pk, fetch_rows(ALL, [conversation]))
        for index, message in enumerate(newer if cuts.changes else ()):
            if message.pk in cuts.by_message:
                beginning, newer = BranchHistory.from_cut(cuts, message.pk), newer[:index]
                break
    branch = beginning.followed_by(newer[::-1])
    is_whole = not branch.others and not any(message.may_grow for message in newer)
    if newer and is_whole and branch.length >= MIN_CACHED_MESSAGES:
        _branch_cache.put(newer[0].stored_pk, branch, instead_of)
    return branch


def _walk_up(end: object, message_rows: Sequence[Any]) -> list[BranchMessage]:
    """Return the rows on the path from `end` up to the first prompt."""
    by_pk = {row[0]: row for row in message_rows}
    branch = []
    while row := by_pk.get(end):
        branch.append(BranchMessage(*row))
        end = row[1]
    return branch


def _build_chat_messages(
    message: "ChatMessage | Message", reply: Message | None
) -> Iterable[ChatMessage]:
    return message.as_chat_messages(reply) if isinstance(message, Message) else [message]


_FULL_MESSAGES = PreparedIn(
    lambda *pks: Message.objects.filter(pk__in=pks).only(*Message.SENT_FIELDS).order_by(),
    Message._meta.pk,
)
