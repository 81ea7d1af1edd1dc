"""The demo upstream as an ASGI application: routes and authentication.

It serves `POST /v1/chat/completions` and `GET /v1/models` like any OpenAI-compatible server, with
errors in the same format.
"""

import asyncio
import hmac
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from chatapp.demo.answers import script_for
from chatapp.demo.errors import ApiError
from chatapp.demo.failures import ModelFailure, ParameterRefusal, TransientFailure
from chatapp.demo.files import check_images
from chatapp.demo.http import (
    Application,
    ClientLeft,
    Receive,
    Scope,
    Send,
    read_body,
    send_error,
    send_json,
    while_connected,
)
from chatapp.demo.models import EFFORTS, MODELS, DemoModel
from chatapp.demo.playing import build_choices, encoder_for, play, replay, send_whole
from chatapp.demo.replays import Replays
from chatapp.demo.requests import ChatRequest, parse_chat_request
from chatapp.demo.showpieces import add_citations
from chatapp.demo.tries import Tries
from chatapp.upstream.recordings import Recording

STARTED = int(time.time())


def demo_application(
    api_key: str, tokens_per_second: float = 50.0, recordings: Path | None = None
) -> Application:
    """Return an ASGI application that answers like an upstream.

    Every request must carry `Authorization: Bearer <api_key>`. Replies stream at
    `tokens_per_second`; with `inf`, without waiting. Each file in the folder `recordings` is also a
    model, which replays it.
    """
    replays = Replays(recordings)
    tries = Tries()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"The demo upstream speaks HTTP, not {scope['type']}.")
        try:
            check_key(scope, api_key)
            if check_route(scope) == "/v1/models":
                replayed = await asyncio.to_thread(replays.files)
                await send_json(send, model_list([*MODELS, *replayed]))
                return
            request = parse_chat_request(await read_body(receive))
            if recording := await asyncio.to_thread(replays.load, request.model):
                await while_connected(receive, replay(recording, send))
                return
            await while_connected(receive, complete(request, tries, send, tokens_per_second))
        except ApiError as error:
            await send_error(send, error)
        except ClientLeft:
            pass

    return application


METHODS = {"/v1/models": "GET", "/v1/chat/completions": "POST"}


def check_key(scope: Scope, api_key: str) -> None:
    authorization = dict(scope["headers"]).get(b"authorization", b"")
    scheme, _, key = authorization.partition(b" ")
    if scheme.lower() != b"bearer" or not hmac.compare_digest(key.strip(), api_key.encode()):
        message = "Incorrect API key provided. The demo upstream has a key of its own."
        raise ApiError(401, message, code="invalid_api_key")


def check_route(scope: Scope) -> str:
    """Return the path. Raises `ApiError` 404 for an unknown path and 405 for a wrong method."""
    path, method = scope["path"], scope["method"]
    allowed = METHODS.get(path)
    if allowed is None:
        raise ApiError(404, f"Unknown request URL: {method} {path}.", code="unknown_url")
    if method != allowed:
        message = f"Not allowed to {method} on {path} (use {allowed})."
        headers = ((b"Allow", allowed.encode()),)
        raise ApiError(405, message, code="method_not_supported", headers=headers)
    return str(path)


def model_list(names: Iterable[str]) -> bytes:
    about = {"object": "model", "created": STARTED, "owned_by": "chatapp"}
    models = [{"id": name, **about, **build_features(name)} for name in names]
    return msgspec.json.encode({"object": "list", "data": models})


def build_features(name: str) -> dict[str, object]:
    """Return a model's capabilities and what it takes, as the app reads them. A replay has none."""
    model = MODELS.get(name)
    if model is None:
        return {"capabilities": []}
    can = {"tools": True, "reasoning": model.reasons, "web_search": model.searches}
    features: dict[str, object] = {
        "capabilities": [capability for capability, is_there in can.items() if is_there],
        "input_modalities": ["text", "image"] if model.takes_images else ["text"],
    }
    if model.reasons:
        features["reasoning"] = {"supported_efforts": list(EFFORTS)}
    return features


async def complete(
    request: ChatRequest, tries: Tries, send: Send, tokens_per_second: float
) -> None:
    """Answer one chat completion, streamed or as one document, or fail as the question asks."""
    model = find_model(request.model)
    if not model.takes_images:
        check_images(request.messages, request.model)
    reasons = model.reasons and request.reasoning_effort != EFFORTS[0]
    outcome = script_for(request.messages, request.functions, reasons=reasons)
    if isinstance(outcome, TransientFailure):
        fails = tries.fails(msgspec.json.encode(request.messages), outcome.times)
        outcome = outcome.error if fails else outcome.script
    elif isinstance(outcome, ParameterRefusal):
        is_given = getattr(request, outcome.parameter) is not None
        outcome = outcome.error if is_given else outcome.script
    elif isinstance(outcome, ModelFailure):
        outcome = outcome.error if request.model == outcome.model else outcome.script
    match outcome:
        case ApiError():  # sent, not raised: the instance is shared and would collect tracebacks
            await send_error(send, outcome)
            return
        case Recording():
            await replay(outcome, send)
            return
    if model.searches and request.web_search_options is not None:
        outcome = add_citations(outcome)
    script = replace(outcome, thinks_in_tags=model.thinks_in_tags).limit_answer(request.max_output)
    choices = build_choices(request, model, script)
    encoder = encoder_for(request, model, choices)
    if request.stream and not script.is_sent_whole:
        await play(choices, encoder, tokens_per_second, send)
    else:
        await send_whole(choices, encoder, send)


def find_model(name: str) -> DemoModel:
    if name not in MODELS:
        message = f"The model '{name}' does not exist. The demo has {', '.join(MODELS)}."
        raise ApiError(404, message, code="model_not_found", param="model")
    return MODELS[name]
