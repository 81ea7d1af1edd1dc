"""Send a script or a recording to a client as a stream, or a script as one JSON document."""

import asyncio
import itertools
import time
import uuid
from collections.abc import Sequence

from chatapp.demo.errors import ApiError
from chatapp.demo.http import Send, send_body, send_json, send_start
from chatapp.demo.models import DemoModel
from chatapp.demo.pace import Pace
from chatapp.demo.requests import ChatRequest
from chatapp.demo.script import Ending, Script
from chatapp.demo.tokens import count_tokens, split_tokens
from chatapp.demo.wire import Encoder, Usage
from chatapp.upstream.recordings import Recording

EVENT_STREAM_HEADERS = (
    (b"Content-Type", b"text/event-stream"),
    (b"Cache-Control", b"no-cache"),
    (b"X-Accel-Buffering", b"no"),
)
REPLAYED_HEADERS = frozenset({"content-type", "content-encoding", "retry-after"})


def build_choices(request: ChatRequest, model: DemoModel, script: Script) -> list[Script]:
    """Return as many choices as the request asks for; a bare dialect can only send one."""
    return script.choices(1 if model.dialect.is_bare else request.n or 1)


def encoder_for(request: ChatRequest, model: DemoModel, choices: Sequence[Script]) -> Encoder:
    """Return an encoder with the id, time and usage of this completion."""
    wants_usage = request.stream_options is not None and request.stream_options.include_usage
    tier = request.service_tier
    return Encoder(
        dialect=model.dialect,
        id=model.dialect.id_prefix + uuid.uuid4().hex,
        created=int(time.time()),
        model=request.model,
        usage=count_usage(request, choices),
        includes_usage=bool(wants_usage) or model.dialect.always_reports_usage,
        service_tier="default" if tier in (None, "auto") else str(tier),
        top_logprobs=request.top_logprobs or 0 if request.logprobs else None,
    )


def count_usage(request: ChatRequest, choices: Sequence[Script]) -> Usage:
    """Return the usage, as if the gateway had cached all of the prompt except its last message."""
    texts = [message.text for message in request.messages]
    return Usage(
        prompt=count_tokens(texts),
        cached=count_tokens(texts[:-1]),
        completion=sum(sum(1 for _ in script.deltas) for script in choices),
        reasoning=sum(len(split_tokens(script.reasoning)) for script in choices),
    )


async def play(
    choices: Sequence[Script], encoder: Encoder, tokens_per_second: float, send: Send
) -> None:
    """Stream a reply, its choices interleaved. A stalled reply never returns; cancel it."""
    await send_start(send, 200, EVENT_STREAM_HEADERS)
    events = [encoder.choice_events(index, script) for index, script in enumerate(choices)]
    for opening in map(next, events):
        await send_body(send, opening, more=True)
    pace = Pace(tokens_per_second)
    for side_by_side in itertools.zip_longest(*events):
        await pace.tick()
        for event in filter(None, side_by_side):
            await send_body(send, event, more=True)
    if choices[0].ending is Ending.STALL:
        await asyncio.get_running_loop().create_future()
    for event in encoder.closing_events(choices[0]):
        await send_body(send, event, more=True)
    await send_body(send, b"", more=False)


async def replay(recording: Recording, send: Send) -> None:
    """Send a recorded response: the same bytes in the same pieces at the same intervals."""
    headers = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in recording.headers.items()
        if name.lower() in REPLAYED_HEADERS
    ]
    await send_start(send, recording.status, headers)
    for seconds, data in recording.replay():
        await asyncio.sleep(seconds)
        await send_body(send, data, more=True)
    await send_body(send, b"", more=False)


async def send_whole(choices: Sequence[Script], encoder: Encoder, send: Send) -> None:
    """Send a reply as one JSON document. Raises `ApiError` 502 for a reply that breaks off."""
    if choices[0].ending.finish_reason is None:
        error = encoder.dialect.stream_error
        type_, code = error.get("type") or "upstream_error", error.get("code")
        raise ApiError(502, str(error["message"]), type=type_, code=code)
    await send_json(send, encoder.completion(choices))
