"""Views of the API. They check a request in a thread; the response is written on the event loop."""

import logging
from collections.abc import Callable
from functools import wraps
from mmap import ACCESS_READ, mmap

from django.core.handlers.asgi import ASGIRequest
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from chatapp.api.authentication import authenticate
from chatapp.api.bodies import ChatRequest
from chatapp.api.completions import RETRY_AFTER, CompletionResponse
from chatapp.api.data_urls import Body
from chatapp.api.large_bodies import max_bytes
from chatapp.api.model_list import ModelResponse, ModelsResponse
from chatapp.api.responses import DATABASE_AWAY, NOT_FOUND, ApiError, error_response
from chatapp.models.accounts.access_tokens import Scope
from chatapp.server_interface import BODY_FILE, ViewThreads, run_in

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponse]

# Scripts may send many requests at once; pages must not wait behind them.
SCRIPT_THREADS = ViewThreads("api", 2, are_for_tokens=True)

TOO_LARGE = "The request is larger than the {:,} bytes allowed here."
JSON = "application/json"
NOT_JSON = "Send the body as JSON, with the header “Content-Type: application/json”."


def with_json_errors(method: str) -> Callable[[View], View]:
    """Take requests with this method only, and answer errors as OpenAI does.

    No CSRF token is needed, because no cookie authenticates.
    """

    def decorator(view: View) -> View:
        @run_in(SCRIPT_THREADS)
        @csrf_exempt
        @never_cache
        @wraps(view)
        def view_with_json_errors(request: HttpRequest, **arguments: str) -> HttpResponse:
            try:
                if request.method != method:
                    raise ApiError(405, f"Use {method}.", "method_not_allowed")
                return view(request, **arguments)
            except ApiError as error:
                response = error_response(error)
            except (OperationalError, InterfaceError) as error:
                logger.error("The database can't be reached: %s", error)
                away = ApiError(503, DATABASE_AWAY, None, None, RETRY_AFTER)
                response = error_response(away)
            if response.status_code == 405:
                response.headers["Allow"] = method
            return response

        return view_with_json_errors

    return decorator


@with_json_errors("GET")
def models(request: HttpRequest) -> HttpResponse:
    """List the models that the token's person may use."""
    return ModelsResponse(authenticate(request, Scope.MODELS).user_id)


@with_json_errors("GET")
def model(request: HttpRequest, name: str) -> HttpResponse:
    """Describe a model that the token's person may use."""
    return ModelResponse(authenticate(request, Scope.MODELS).user_id, name)


@with_json_errors("POST")
def chat_completions(request: HttpRequest) -> HttpResponse:
    """Let a model answer."""
    token = authenticate(request, Scope.CHAT)
    if request.content_type not in ("", JSON):
        raise ApiError(415, NOT_JSON, "unsupported_media_type")
    return CompletionResponse(token, ChatRequest.of(_read_body(request)))


def _read_body(request: HttpRequest) -> Body:
    """Return the body; a large one is read from its file and is not held in memory."""
    assert isinstance(request, ASGIRequest)
    if file := request.scope.get("extensions", {}).get(BODY_FILE):
        return mmap(file.fileno(), 0, access=ACCESS_READ)
    if int(request.META.get("CONTENT_LENGTH") or 0) > (limit := max_bytes()):
        raise ApiError(413, TOO_LARGE.format(limit), "request_too_large")
    body: bytes = request.read()
    return body


@csrf_exempt
def not_found(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer requests to unknown addresses as JSON, too."""
    return error_response(ApiError(404, NOT_FOUND, "not_found"))
