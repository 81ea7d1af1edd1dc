"""The worker process: renders the requests that arrive on the socket that is its stdin.

It inherits no environment, files or connections, has a memory limit, and ends with its parent or
after being idle for long. The kernel kills it if a request takes too long; before that, code and
formulas that take long are left unformatted.
"""

import os
import resource
import signal
import time
from collections.abc import Callable
from socket import socket

from chatapp.rendering.markdown import FULL, RenderOptions, block_html, render, render_typed
from chatapp.rendering.markdown.code import escape_code
from chatapp.rendering.markdown.formulas import as_source
from chatapp.rendering.pool.jobs import (
    Request,
    SomeBlocks,
    Typed,
    WholeText,
    decode_request,
    encode,
    receive,
    send,
)

SECONDS_A_REQUEST = 10.0
NICENESS = 5  # the event loop goes first if cores are few
IDLE_SECONDS = 300.0
MEMORY_BYTES = 1024**3
# Limits of CPU time for one code block or formula, and for all of a request.
SECONDS_A_PIECE = 1.0
SECONDS_OF_PIECES = 3.0


class TookTooLong(BaseException):
    """Raised by the timer's signal handler, wherever the code happens to be."""


def main() -> None:
    _limit_resources()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # kills the process, whatever it is doing
    signal.signal(signal.SIGVTALRM, _raise)
    connection = socket(fileno=0)
    connection.settimeout(IDLE_SECONDS)
    while True:
        try:
            request = receive(connection)
        except (OSError, EOFError):
            return
        signal.setitimer(signal.ITIMER_REAL, SECONDS_A_REQUEST)
        answer = encode(answer_request(decode_request(request)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            send(connection, answer)
        except OSError:
            return


def answer_request(request: Request) -> list[str]:
    pieces = _Pieces()
    options = RenderOptions(pieces.code, pieces.formula)
    match request:
        case WholeText(text):
            return ["".join([render(text, options)])]  # a plain string again
        case Typed(text):
            return ["".join([render_typed(text, options)])]
        case SomeBlocks(blocks):
            return [block_html(block, definitions, options) for block, definitions in blocks]


class _Pieces:
    """Renders the code blocks and formulas of a request while its time lasts."""

    def __init__(self) -> None:
        self._left = SECONDS_OF_PIECES

    def code(self, code: str, language: str) -> str:
        return self._run_limited(lambda: FULL.code(code, language)) or escape_code(code, language)

    def formula(self, formula: str) -> str:
        return self._run_limited(lambda: FULL.formula(formula)) or as_source(formula)

    def _run_limited(self, work: Callable[[], str]) -> str:
        if self._left <= 0:
            return ""
        began_at = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, min(SECONDS_A_PIECE, self._left))
            try:
                return work()
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except TookTooLong:
            return ""
        finally:
            self._left -= time.process_time() - began_at


def _raise(_number: int, _frame: object) -> None:
    raise TookTooLong


def _limit_resources() -> None:
    os.nice(NICENESS)
    for what, limit in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (limit, limit))
