"""What workers tell each other: a frozen struct a kind, in one tagged union, as msgpack.

While an upgrade runs, workers of two versions hear each other. Whoever adds a field gives it a
default; whoever changes what one means changes the name of its struct, which is its tag: the other
version then skips it instead of mistaking it for its own.
"""

from uuid import UUID

import msgspec

from chatapp.upstream.wire.reply import Ending


class _Kind(msgspec.Struct, frozen=True, tag=True, tag_field="kind"):
    pass


class Watch(_Kind, frozen=True):
    """Asks the owner of a reply for its snapshot, and then for what follows."""

    reply: UUID
    conversation: UUID


class Renew(_Kind, frozen=True):
    """All the replies of the addressed worker that the sender's viewers await."""

    replies: frozenset[UUID]


class Leave(_Kind, frozen=True):
    """The sender's last viewer of a reply is gone; the reply may end `grace` seconds from now."""

    reply: UUID
    grace: float


class Stop(_Kind, frozen=True):
    """A command to the owner of a reply."""

    reply: UUID
    conversation: UUID
    ending: Ending


class Decide(_Kind, frozen=True):
    """A command to the owner of a reply: a person allows or denies a tool call."""

    reply: UUID
    conversation: UUID
    round: int
    call: int
    allowed: bool


class Frame(_Kind, frozen=True):
    """What a reply's viewers are shown next; the first has sequence 1."""

    reply: UUID
    sequence: int
    html: str


class Snapshot(_Kind, frozen=True):
    """A reply with all of its frames through `sequence`."""

    reply: UUID
    sequence: int
    html: str


class Ended(_Kind, frozen=True):
    """A reply is saved; no frame comes after `sequence`."""

    reply: UUID
    sequence: int


class Running(_Kind, frozen=True):
    """Answers `Renew`: the last frame of each reply, None where the sender has no such follower."""

    sequences: dict[UUID, int | None]


class Gone(_Kind, frozen=True):
    """Answers `Watch`: the reply does not run in the sender."""

    reply: UUID


class TurnBegan(_Kind, frozen=True):
    """A conversation has something new in the database: who shows it draws it anew."""

    conversation: UUID


class ThreadChanged(_Kind, frozen=True):
    """Some of what was said in a conversation was deleted, or is back: who shows it draws all of it
    anew."""

    conversation: UUID


class PeopleChanged(_Kind, frozen=True):
    """Something has changed about these people; about anybody, where it is None."""

    people: frozenset[int] | None


class ConversationChanged(_Kind, frozen=True):
    """A person's conversation was renamed or deleted: the database says which."""

    user: int
    conversation: UUID


class ListChanged(_Kind, frozen=True):
    """What a person's sidebar lists has changed: rows are in other places, or gone."""

    user: int


class PolicyChanged(_Kind, frozen=True):
    """What reviewers may read of a conversation that is begun now is another than before."""


class Echo(_Kind, frozen=True):
    """What a worker posts to itself, to know whether the layer carries anything."""


Command = Stop | Decide
Change = PeopleChanged | ConversationChanged | ListChanged | PolicyChanged
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
    | PolicyChanged
    | Echo
)


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What one worker sends to one address at once."""

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
    """Raises `ValueError` or `OverflowError` where a value of one message can't be carried."""
    return _encoder.encode(batch)


def decode(data: bytes) -> tuple[Batch, list[str]]:
    """The messages that this version knows, and why the others can't be read.

    Raises `msgspec.DecodeError` for what is no batch at all.
    """
    try:
        return _batches.decode(data), []
    except msgspec.ValidationError:
        return _decode_one_by_one(data)


def _decode_one_by_one(data: bytes) -> tuple[Batch, list[str]]:
    raw = _raw_batches.decode(data)
    known: list[Message] = []
    problems: list[str] = []
    for one in raw.messages:
        try:
            known.append(_messages.decode(one))
        except msgspec.ValidationError as error:
            problems.append(str(error))
    return Batch(raw.sender, known), problems
