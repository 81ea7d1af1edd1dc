"""The demo upstream as an ASGI application: its routes and its key.

`POST /v1/chat/completions` and `GET /v1/models` as OpenAI-compatible servers have them, and
every error in their form.
"""

import hmac
import time

import msgspec

from chatapp.demo.answers import script_for
from chatapp.demo.errors import ApiError
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
from chatapp.demo.models import MODELS, DemoModel
from chatapp.demo.playing import encoder_for, play, send_whole
from chatapp.demo.requests import parse_chat_request

STARTED = int(time.time())


def demo_application(api_key: str, tokens_per_second: float = 50.0) -> Application:
    """An ASGI application that answers as an upstream would.

    Every request must carry `Authorization: Bearer <api_key>`. Replies stream at
    `tokens_per_second`; `inf` means without waiting.
    """

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"The demo upstream speaks HTTP, not {scope['type']}.")
        try:
            check_key(scope, api_key)
            match allowed_route(scope):
                case "/v1/models":
                    await send_json(send, model_list())
                case "/v1/chat/completions":
                    await complete(receive, send, tokens_per_second)
        except ApiError as error:
            await send_error(send, error)
        except ClientLeft:
            pass

    return application


METHODS = {"/v1/models": "GET", "/v1/chat/completions": "POST"}


def check_key(scope: Scope, api_key: str) -> None:
    given = dict(scope["headers"]).get(b"authorization", b"")
    scheme, _, key = given.partition(b" ")
    if scheme.lower() != b"bearer" or not hmac.compare_digest(key.strip(), api_key.encode()):
        message = "Incorrect API key provided. The demo upstream has a key of its own."
        raise ApiError(401, message, code="invalid_api_key")


def allowed_route(scope: Scope) -> str:
    """The path, if there is something behind it and the method fits. Raises `ApiError` 404, 405."""
    path, method = scope["path"], scope["method"]
    allowed = METHODS.get(path)
    if allowed is None:
        raise ApiError(404, f"Unknown request URL: {method} {path}.", code="unknown_url")
    if method != allowed:
        message = f"Not allowed to {method} on {path} (use {allowed})."
        headers = ((b"Allow", allowed.encode()),)
        raise ApiError(405, message, code="method_not_supported", headers=headers)
    return str(path)


def model_list() -> bytes:
    models = [
        {"id": name, "object": "model", "created": STARTED, "owned_by": "chatapp"}
        for name in MODELS
    ]
    return msgspec.json.encode({"object": "list", "data": models})


async def complete(receive: Receive, send: Send, tokens_per_second: float) -> None:
    """Answer one chat completion, streamed or whole, for as long as the client is there."""
    request = parse_chat_request(await read_body(receive))
    model = model_named(request.model)
    script = script_for(request.messages, reasons=model.reasons)
    if isinstance(script, ApiError):
        await send_error(send, script)
        return
    encoder = encoder_for(request, model, script)
    if request.stream:
        await while_connected(receive, play(script, encoder, tokens_per_second, send))
    else:
        await send_whole(script, encoder, send)


def model_named(name: str) -> DemoModel:
    if name not in MODELS:
        message = f"The model '{name}' does not exist. The demo has {' and '.join(MODELS)}."
        raise ApiError(404, message, code="model_not_found", param="model")
    return MODELS[name]
