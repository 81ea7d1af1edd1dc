"""Configures the server's log: JSON lines, or columns for a person at a terminal.

Code logs through the standard library's `logging`, so that our lines and those of libraries look
alike. Each carries the context of `structlog.contextvars`: the `request_id` of its request or
socket, and what a reply binds. No line holds the text of a message, form fields or a query string,
and anything that looks like a key is redacted.

Imports neither Django nor any other module of the app, because the settings import it.
"""

import logging
import re
import sys
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import structlog

logger = logging.getLogger(__name__)

# Paths requested all the time, and the setup link, since its path is a secret.
UNLOGGED_PATHS = ("/healthz", "/readyz", "/metrics", "/static/", "/setup/")
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

EXTRAS = ("method", "path", "status", "seconds", "model", "ending", "error", "fallback")
REDACTED = "[redacted]"
# A key's value has the characters of an RFC 6750 token, so a redacted line of JSON stays valid.
KEY = re.compile(
    r"""(?xi)
    (   (?: authorization | api[ _-]?key | password | secret ) (?: [ ] \w+ )? [\\"']* \s* [:=,]
        [\s\\"'b]* (?: (?: bearer | basic ) \s+ )?
      | \b (?: bearer | basic ) \s+
    ) [\w.~+/=-]{6,}
  | ( :// [^/\s:@]* : ) [^/\s@"'\\]+ (?=@)
  | () \b sk- [\w-]{6,}
    """
)
# The setup link works like a password until the first account exists, and so do shared links.
SECRET_PATH = re.compile(r"(/(?:setup|s)/)[^/\s\"'\\]+")
# PostgreSQL quotes a row that it rejects, which may hold somebody's message.
ROW = re.compile(r"(Failing row contains \().*?(\)\.)", re.DOTALL)


def configuration(*, for_people: bool) -> dict[str, Any]:
    """Return the value for LOGGING: columns on stderr if `for_people`, else JSON lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": _formatter(_renderer(for_people))},
        "filters": {
            "errors": {"()": lambda: _is_exception},
            "brief": {"()": lambda: _without_traceback},
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["brief"],
            }
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": _LOGGERS,
    }


_LOGGERS = {
    "chatapp": {"level": "INFO"},
    # Without the handlers of Django's own configuration: one of them emails form fields.
    "django": {"handlers": [], "level": "NOTSET"},
    "django.request": {"filters": ["errors"]},
    # It logs a traceback per second while Redis is down; `cluster.layer` logs one line.
    "channels_redis": {"level": "CRITICAL"},
    "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
}


def _renderer(for_people: bool) -> Any:
    if not for_people:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(),
        # If rich is installed, the default prints the values of variables.
        exception_formatter=structlog.dev.plain_traceback,
    )


def _formatter(renderer: Any) -> dict[str, Any]:
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(allow=EXTRAS),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            renderer,
            lambda _logger, _level, line: redact(line),
        ],
    }


def _is_exception(record: logging.LogRecord) -> bool:
    """Drop Django's lines about a status: `RequestLog` already logs it."""
    return bool(record.exc_info) and record.levelno >= logging.ERROR


def _without_traceback(record: logging.LogRecord) -> bool:
    """Drop the traceback of requests that Django refused: anybody can send those."""
    if record.name.startswith("django.security."):
        record.exc_info = None
    return True


def redact(line: str) -> str:
    """Redact anything in the line that looks like a key, password, setup link or database row."""
    line = KEY.sub(lambda match: f"{match[1] or match[2] or ''}{REDACTED}", line)
    line = SECRET_PATH.sub(rf"\1{REDACTED}", line)
    return ROW.sub(rf"\1{REDACTED}\2", line)


class RequestLog:
    """ASGI middleware that gives requests and sockets an id and logs each request when it ends.

    The id is the `X-Request-ID` header if the peer is trusted and the value looks like an id, else
    a new one. The response repeats it in the same header.
    """

    def __init__(self, application: Any, is_trusted: Callable[[str | None], bool]) -> None:
        self._application = application
        self._is_trusted = is_trusted

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request_id = self._request_id(scope)
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            if scope["type"] == "http":
                await self._log(request_id, scope, receive, send)
            else:
                await self._application(scope, receive, send)

    def _request_id(self, scope: Any) -> str:
        request_ids = [value for name, value in scope["headers"] if name == b"x-request-id"]
        peer = scope["client"][0] if scope.get("client") else None
        if (
            len(request_ids) == 1
            and self._is_trusted(peer)
            and REQUEST_ID.fullmatch(request_ids[0])
        ):
            return str(request_ids[0], "ascii")
        return uuid4().hex

    async def _log(self, request_id: str, scope: Any, receive: Any, send: Any) -> None:
        status: int | None = None  # stays None if the client leaves before the response

        async def send_with_id(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                named = (b"x-request-id", request_id.encode())
                message = message | {"headers": [*message.get("headers", ()), named]}
            await send(message)

        started_at = time.monotonic()
        try:
            await self._application(scope, receive, send_with_id)
        finally:
            if not scope["path"].startswith(UNLOGGED_PATHS):
                fields = {
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": status,
                    "seconds": round(time.monotonic() - started_at, 4),
                }
                logger.info("Request", extra=fields)
