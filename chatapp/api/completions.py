"""Writes the response to `POST /chat/completions`, streamed or whole."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from http import HTTPStatus

import msgspec
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from chatapp.api.bodies import ChatRequest
from chatapp.api.chunks import WHOLE, Writer, format_message
from chatapp.api.files import has_files, read_files
from chatapp.api.models import find_model
from chatapp.api.responses import DATABASE_AWAY, OUR_MISTAKE, ApiError, ApiResponse
from chatapp.catalogue import takes_images
from chatapp.models import AccessToken, ModelChoice, Refused, Upstream
from chatapp.models.refusals import OverLimit
from chatapp.realtime.completions import Completion, CompletionRequest, NotPermitted
from chatapp.realtime.completions.completions import Restarting, TooMany
from chatapp.realtime.worker import worker
from chatapp.server_interface import Send
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import Event
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.history import History

logger = logging.getLogger(__name__)

# A comment is sent after this long without a chunk, so that no proxy closes the connection while a
# model thinks. From the first one on, an error can only be sent as a chunk.
QUIET_SECONDS = 15.0
COMMENT = b": the model has not written anything for a while\n\n"
DONE = b"data: [DONE]\n\n"
RETRY_AFTER = 5  # seconds
CONVERSATION = "X-Chatapp-Conversation"  # the id of the chat that is saved

CUT_OFF = "The model's server ended the answer before it was complete."
FAILED = "The model's server failed"
MESSAGES = {
    ErrorKind.UNAUTHORIZED: "The model's server refused this app's key. Tell an administrator.",
    ErrorKind.UNREACHABLE: "The model's server can't be reached.",
    ErrorKind.TIMED_OUT: "The model's server took too long.",
    ErrorKind.REDIRECTED: "The model's server redirects elsewhere. Tell an administrator.",
}
STATUSES = {
    ErrorKind.BAD_REQUEST: 400,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.RATE_LIMITED: 429,
    ErrorKind.TIMED_OUT: 504,
}
CODES = {404: "model_not_found", 429: "rate_limit_exceeded"}


class CompletionResponse(ApiResponse):
    """The answer of a model, sent as it arrives or at once."""

    def __init__(self, token: AccessToken, chat_request: ChatRequest) -> None:
        super().__init__(content_type="application/json")
        self._chat_request = chat_request
        self._token = token
        self._writer = Writer("", chat_request.model)
        self._has_started = False
        self._sent_at = time.monotonic()

    async def write_to(self, send: Send) -> None:
        try:
            history = await self._read_files(send)
            completion = await self._begin(history)
        except ApiError as error:
            if self._has_started:  # a comment was sent while files were read
                await send({"type": "http.response.body", "body": _event(error.body)})
            else:
                await self.send_error(send, error)
            return
        with worker().completions.running(completion):
            try:
                await self._answer(completion, send)
            finally:
                if completion.saves:
                    worker().indexing.wake()

    async def _read_files(self, send: Send) -> History:
        history = self._chat_request.history
        if not has_files(history):
            return history
        async with self._keep_alive(send):
            return await read_files(history, self._token.user_id, await self._takes_images())

    async def _takes_images(self) -> bool:
        """Whether the model is known to take images."""
        with _report_database_away():
            try:
                choice = await find_model(self._chat_request.model, self._token.user_id)
            except (ApiError, Refused):  # which the request is told later
                return False
            upstream = await Upstream.objects.filter(pk=choice.upstream).afirst()
        return bool(upstream and takes_images(upstream, choice.name))

    async def _begin(self, history: History) -> Completion:
        """Raise `ApiError` if the request may not be sent."""
        chat_request = self._chat_request
        with _report_database_away():
            try:
                choice = await find_model(chat_request.model, self._token.user_id)
                return await worker().completions.begin(
                    CompletionRequest(
                        self._token,
                        history,
                        chat_request.parameters,
                        chat_request.tools,
                        chat_request.tool_choice,
                        chat_request.choices,
                        chat_request.chat,
                        worker().stored_bytes[self._token.user_id],
                    ),
                    choice,
                )
            except Refused as refused:
                raise _error_of_refusal(refused) from refused

    async def _answer(self, completion: Completion, send: Send) -> None:
        request = completion.asked
        first = ModelChoice(request.upstream.pk, request.model)
        self._writer.id = f"chatcmpl-{request.pk.hex}"
        if self._chat_request.is_streamed and self._chat_request.chat:
            self.headers[CONVERSATION] = str(self._chat_request.chat.pk)

        async def receive_events(events: list[Event]) -> None:
            now = completion.asked
            if (now.upstream.pk, now.model) != (first.upstream, first.name):
                self._writer.model = f"{now.upstream.name}/{now.model}"  # a fallback
            if self._chat_request.is_streamed:
                await self._send_chunks(send, self._writer.chunks(events))

        async with self._keep_alive(send):
            try:
                await completion.run(receive_events)
                error = _find_error(completion)
            except Exception:  # the client must not take what it has for the whole answer
                logger.exception("A request over the API failed")
                error = ApiError(500, OUR_MISTAKE)
        await self._finish(completion, error, send)

    async def _finish(self, completion: Completion, error: ApiError | None, send: Send) -> None:
        choices, usage = completion.answer.choices, completion.usage
        is_over = completion.ending is Ending.OVER_BUDGET
        if completion.saves and self._chat_request.chat:
            self.headers[CONVERSATION] = str(self._chat_request.chat.pk)
        elif not self._has_started:
            self.headers.pop(CONVERSATION, None)
        if error and not self._has_started:
            arrived = [format_message(choice) for choice in choices if choice.has_arrived]
            await self.send_error(send, error, {"partial": arrived} if arrived else None)
        elif error:
            await send({"type": "http.response.body", "body": _event(error.body)})
        elif self._chat_request.is_streamed:
            reported_usage = usage if self._chat_request.includes_usage else None
            await self._send_chunks(
                send, self._writer.last_chunks(choices, is_over, reported_usage)
            )
            await send({"type": "http.response.body", "body": DONE})
        else:
            await self.send_json(send, self._writer.completion(choices, is_over, usage))

    async def _send_chunks(self, send: Send, chunks: Iterable[Mapping[str, object]]) -> None:
        if data := b"".join(map(_event, chunks)):
            await self._send(send, data)

    async def _send(self, send: Send, data: bytes) -> None:
        """Send a part of a stream; return once the client can take more."""
        self._sent_at = time.monotonic()
        if not self._has_started:
            self._has_started = True
            self.headers.pop("Content-Length", None)  # which Django sets, as there is no content
            self.headers["Content-Type"] = "text/event-stream; charset=utf-8"
            self.headers["X-Accel-Buffering"] = "no"
            await self.start(send)
        await send({"type": "http.response.body", "body": data, "more_body": True})

    @asynccontextmanager
    async def _keep_alive(self, send: Send) -> AsyncIterator[None]:
        waiting = asyncio.create_task(self._fill_silence(send))
        try:
            yield
        finally:
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting

    async def _fill_silence(self, send: Send) -> None:
        while self._chat_request.is_streamed:
            silence = time.monotonic() - self._sent_at
            if silence >= QUIET_SECONDS:
                await self._send(send, COMMENT)
            else:
                await asyncio.sleep(QUIET_SECONDS - silence)


@contextmanager
def _report_database_away() -> Iterator[None]:
    """Raise `ApiError` in place of errors that say that the database can't be used."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        logger.warning("A request over the API needs the database: %s", error)
        raise ApiError(503, DATABASE_AWAY, None, None, RETRY_AFTER) from error


def _event(body: Mapping[str, object]) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(body)


def _error_of_refusal(refused: Refused) -> ApiError:
    sentence = str(refused)
    match refused:
        case OverLimit(is_brief=True) | TooMany():
            return ApiError(429, sentence, "rate_limit_exceeded", None, RETRY_AFTER)
        case OverLimit(resets_at=resets_at):
            seconds = _seconds_until(resets_at) if resets_at else None
            return ApiError(429, sentence, "insufficient_quota", None, seconds)
        case Restarting():
            return ApiError(503, sentence, None, None, RETRY_AFTER)
        case NotPermitted():
            return ApiError(403, sentence, "api_not_allowed")
    return ApiError(400, sentence, "invalid_request")


def _seconds_until(moment: datetime) -> float:
    return max(0.0, (moment - timezone.now()).total_seconds())


def _find_error(completion: Completion) -> ApiError | None:
    """Return the error to send if the answer is not whole."""
    if completion.stopped:
        if completion.ending is Ending.INTERRUPTED:
            return ApiError(503, completion.stopped, None, None, RETRY_AFTER)
        return ApiError(403, completion.stopped, "access_revoked")
    if error := completion.answer.reply.error:
        return _error_of_upstream(error)
    if all(choice.ending in WHOLE for choice in completion.answer.choices):
        return None
    if completion.ending is Ending.OVER_BUDGET:
        return None  # its finish_reason is `length`
    return ApiError(502, CUT_OFF, "cut_off")


def _error_of_upstream(error: UpstreamError) -> ApiError:
    if error.exceeds_context:
        return ApiError(400, error.message, "context_length_exceeded", "messages")
    status = STATUSES.get(error.kind, HTTPStatus.BAD_GATEWAY)
    sentence = f"{FAILED}: {error.message}" if status >= 500 and error.message else error.message
    message = MESSAGES.get(error.kind) or sentence or f"{FAILED}."
    code = CODES.get(status) or error.code or error.kind.value
    return ApiError(status, message, code, error.param or None, error.retry_after)
