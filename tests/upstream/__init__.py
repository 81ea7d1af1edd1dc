"""Helpers shared by the tests of `chatapp.upstream`: turn bytes into events and replies."""

from collections.abc import Iterable
from pathlib import Path

from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import UpstreamError
from chatapp.upstream.wire.events import Event, Failed
from chatapp.upstream.wire.reply import Reply
from tests.support.fake_upstream import delta, done, finish, usage

KEY = "sk-a-secret-key"
MESSAGES = [{"role": "user", "content": "Größe? \ud800"}]
WHOLE = [delta("Hello"), finish(), usage(), done()]
RECORDINGS = Path(__file__).parent.parent / "recordings"


def decode_events(*reads: bytes, secret: str = "", choices: int = 1) -> list[Event]:
    """Decode a body; `choices` is the request's `n`."""
    decoder = EventDecoder(secret, choices)
    return [event for data in reads for event in decoder.receive_data(data)] + decoder.close()


def fold_events(events: Iterable[Event], choice: int = 0) -> Reply:
    reply = Reply(choice)
    for event in events:
        reply.apply(event)
    return reply


def decode_reply(*reads: bytes, choice: int = 0) -> Reply:
    return fold_events(decode_events(*reads), choice)


class EagerClient(UpstreamClient):
    """A client with which `ask` uses `at_once`."""


async def ask(client: UpstreamClient, endpoint: Endpoint) -> list[Event]:
    seen: list[Event] = []

    def take(events: list[Event]) -> bool:
        seen.extend(events)
        return True

    at_once = take if isinstance(client, EagerClient) else None
    async with client.stream(endpoint, "m", MESSAGES, at_once=at_once) as reads:
        async for events in reads:
            seen += events
    return seen


async def reply_to(client: UpstreamClient, endpoint: Endpoint) -> Reply:
    return fold_events(await ask(client, endpoint))


async def failure(client: UpstreamClient, endpoint: Endpoint) -> UpstreamError:
    (event,) = await ask(client, endpoint)
    assert isinstance(event, Failed)
    assert "sk-a" not in str(event)
    return event.error
