"""The messages between workers: one frozen struct per kind, in a tagged union, encoded as msgpack.

During an upgrade, workers of two versions receive each other's messages. So give a new field a
default, and if you change what a field means, rename its struct: the name is the tag on the wire,
and the other version then skips the message instead of misreading it.
"""

from uuid import UUID

import msgspec

from chatapp.upstream.wire.reply import Ending


class _Kind(msgspec.Struct, frozen=True, tag=True, tag_field="kind"):
    pass


class Watch(_Kind, frozen=True):
    """Ask the owner of a reply for a snapshot and the frames after it."""

    reply: UUID
    conversation: UUID
    waits: bool = True  # whether the reply is to go on for the sender's viewers
    is_shared: bool = False  # whether the sender has readers of a shared chat


class Renew(_Kind, frozen=True):
    """List all replies of the addressed worker that the sender's viewers watch."""

    replies: frozenset[UUID]


class Leave(_Kind, frozen=True):
    """The sender's last viewer of a reply has left; the reply may end in `grace` seconds."""

    reply: UUID
    grace: float


class Stop(_Kind, frozen=True):
    """Tell the owner of a reply to stop it."""

    reply: UUID
    conversation: UUID
    ending: Ending


class Decide(_Kind, frozen=True):
    """Tell the owner of a reply that the person allowed or denied a tool call."""

    reply: UUID
    conversation: UUID
    round: int
    call: int
    allowed: bool
    always: bool = False


class Frame(_Kind, frozen=True):
    """The next fragment for a reply's viewers; the first has sequence 1."""

    reply: UUID
    sequence: int
    html: str


class Snapshot(_Kind, frozen=True):
    """A reply as all of its frames up to `sequence` draw it."""

    reply: UUID
    sequence: int
    html: str
    shared: str = ""  # the same for readers of a shared chat, if the other worker has some


class Ended(_Kind, frozen=True):
    """A reply is saved; there is no frame after `sequence`."""

    reply: UUID
    sequence: int


class Running(_Kind, frozen=True):
    """Answer to `Renew`: each reply's last sequence, or None if the sender has no such follower."""

    sequences: dict[UUID, int | None]


class Gone(_Kind, frozen=True):
    """Answer to `Watch`: the reply is not running in the sender."""

    reply: UUID


class TurnBegan(_Kind, frozen=True):
    """A conversation has something new in the database; tabs that show it load that."""

    conversation: UUID


class ThreadChanged(_Kind, frozen=True):
    """Messages of a conversation were deleted or restored; tabs that show it redraw all of it."""

    conversation: UUID


class PeopleChanged(_Kind, frozen=True):
    """Something has changed about these people; None means about anybody."""

    people: frozenset[int] | None


class ConversationChanged(_Kind, frozen=True):
    """A person's conversation was renamed, deleted or given other settings."""

    user: int
    conversation: UUID


class ListChanged(_Kind, frozen=True):
    """A person's sidebar lists have changed: rows moved or were removed."""

    user: int


class DraftChanged(_Kind, frozen=True):
    """The attachments in a person's draft have changed; None is the draft of a new chat."""

    user: int
    conversation: UUID | None


class SharesChanged(_Kind, frozen=True):
    """A conversation is shared with others than before, or its owner reads another branch."""

    conversation: UUID


class PolicyChanged(_Kind, frozen=True):
    """The review policy for new conversations has changed."""


class SummaryProgress(_Kind, frozen=True):
    """A summary of a conversation is being written; repeated every second."""

    user: int
    conversation: UUID
    model: str  # its display name
    words: int


class SummaryEnded(_Kind, frozen=True):
    """No summary of a conversation is being written any more; its tabs show the note."""

    conversation: UUID
    note: str


class StopSummary(_Kind, frozen=True):
    """Tell the process that writes a summary of a person's conversation to stop it."""

    user: int
    conversation: UUID


class Echo(_Kind, frozen=True):
    """Posted by a worker to itself, to find out whether the layer works."""


Command = Stop | Decide
Change = (
    PeopleChanged | ConversationChanged | ListChanged | DraftChanged | PolicyChanged | SharesChanged
)
SummaryMessage = SummaryProgress | SummaryEnded | StopSummary
Message = (
    Watch
    | Renew
    | Leave
    | Stop
    | Decide
    | Frame
    | Snapshot
    | Ended
    | Running
    | Gone
    | TurnBegan
    | ThreadChanged
    | PeopleChanged
    | ConversationChanged
    | ListChanged
    | DraftChanged
    | PolicyChanged
    | SharesChanged
    | SummaryProgress
    | SummaryEnded
    | StopSummary
    | Echo
)


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """The messages that one worker sends to one address at once."""

    sender: UUID
    messages: list[Message]


class _RawBatch(msgspec.Struct, frozen=True, array_like=True):
    sender: UUID
    messages: list[msgspec.Raw]


_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_batches = msgspec.msgpack.Decoder(Batch)
_raw_batches = msgspec.msgpack.Decoder(_RawBatch)
_messages: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def encode(batch: Batch) -> bytes:
    """Encode a batch as msgpack.

    Raises `ValueError` or `OverflowError` if a message holds a value that can't be encoded.
    """
    return _encoder.encode(batch)


def decode(data: bytes) -> tuple[Batch, list[str]]:
    """Return the messages that this version knows, and the errors of those it can't read.

    Raises `msgspec.DecodeError` if `data` is not a batch at all.
    """
    try:
        return _batches.decode(data), []
    except msgspec.ValidationError:
        return _decode_one_by_one(data)


def _decode_one_by_one(data: bytes) -> tuple[Batch, list[str]]:
    raw = _raw_batches.decode(data)
    messages: list[Message] = []
    problems: list[str] = []
    for message in raw.messages:
        try:
            messages.append(_messages.decode(message))
        except msgspec.ValidationError as error:
            problems.append(str(error))
    return Batch(raw.sender, messages), problems
