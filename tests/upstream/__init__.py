"""What the tests of the upstream core share: bytes or events in, events or a reply out."""

from collections.abc import Iterable
from pathlib import Path

from chatapp.upstream.decoder import EventDecoder
from chatapp.upstream.events import Event
from chatapp.upstream.reply import Reply

RECORDINGS = Path(__file__).parent.parent / "recordings"


def events_of(*reads: bytes, secret: str = "", choices: int = 1) -> list[Event]:
    """The events of a body; `choices` is how many were asked for."""
    decoder = EventDecoder(secret, choices)
    return [event for data in reads for event in decoder.receive_data(data)] + decoder.close()


def folded(events: Iterable[Event], choice: int = 0) -> Reply:
    reply = Reply(choice)
    for event in events:
        reply.apply(event)
    return reply


def reply_of(*reads: bytes, choice: int = 0) -> Reply:
    return folded(events_of(*reads), choice)
