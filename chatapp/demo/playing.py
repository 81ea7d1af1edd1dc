"""Playing a script to a client: as a stream at a believable pace, or whole."""

import asyncio
import time
import uuid

from chatapp.demo.errors import ApiError
from chatapp.demo.http import Send, send_body, send_json, send_start
from chatapp.demo.models import DemoModel
from chatapp.demo.pace import Pace
from chatapp.demo.requests import ChatRequest
from chatapp.demo.script import Ending, Script
from chatapp.demo.tokens import count_prompt_tokens
from chatapp.demo.wire import Encoder, Usage

EVENT_STREAM_HEADERS = (
    (b"Content-Type", b"text/event-stream"),
    (b"Cache-Control", b"no-cache"),
    (b"X-Accel-Buffering", b"no"),
)


def encoder_for(request: ChatRequest, model: DemoModel, script: Script) -> Encoder:
    """An encoder with the id, time and usage of this one completion."""
    return Encoder(
        dialect=model.dialect,
        id=model.dialect.id_prefix + uuid.uuid4().hex,
        created=int(time.time()),
        model=request.model,
        usage=usage_of(request, script),
    )


def usage_of(request: ChatRequest, script: Script) -> Usage:
    """As if a gateway had cached all of the prompt but its last message."""
    reasoning = len(script.reasoning_tokens)
    return Usage(
        prompt=count_prompt_tokens(request.messages),
        cached=count_prompt_tokens(request.messages[:-1]),
        completion=reasoning + len(script.answer_tokens),
        reasoning=reasoning,
    )


async def play(script: Script, encoder: Encoder, tokens_per_second: float, send: Send) -> None:
    """Stream the script, one delta an event. A stalled one never returns; cancel it."""
    await send_start(send, 200, EVENT_STREAM_HEADERS)
    await send_body(send, encoder.opening_event(), more=True)
    pace = Pace(tokens_per_second)
    for delta in script.deltas:
        await pace.tick()
        await send_body(send, encoder.delta_event(delta), more=True)
    if script.ending is Ending.STALL:
        await asyncio.get_running_loop().create_future()
    for event in encoder.ending_events(script.ending):
        await send_body(send, event, more=True)
    await send_body(send, b"", more=False)


async def send_whole(script: Script, encoder: Encoder, send: Send) -> None:
    """Send the script as one JSON document. Raises `ApiError` 502 for one that breaks off."""
    if script.ending.finish_reason is None:
        error = encoder.dialect.stream_error
        raise ApiError(502, error["message"], type=error["type"], code=error["code"])
    await send_json(send, encoder.completion(script))
