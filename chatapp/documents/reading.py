"""Reads a file, or draws pages of it, in a sandboxed subprocess, and checks what comes back."""

import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeVar

from . import answers, refusals
from .labels import refine_label
from .results import DrawnPage, Limits, PlacedPicture, Result, Unreadable

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent.parent
START = (
    "import sys; sys.path.append(sys.argv[1]); from chatapp.documents.sandbox.child import main;"
    " main(*sys.argv[2:])"
)
# `Limits.seconds` is CPU time, which the kernel enforces. On busy cores it lasts longer.
ELAPSED_PER_CPU_SECOND = 4
CHUNK_BYTES = 2**16

T = TypeVar("T")

_running: set[subprocess.Popen[bytes]] = set()


def read(path: Path, limits: Limits, name: str = "") -> Result:
    """Return the text or the image of a file. Blocks until its subprocess has ended.

    The name only refines the label of plain text, such as "Python" for `.py`. Raises `Unreadable`
    with a sentence for the person who attached the file, and `OSError` if the file cannot be
    opened. Threads may call this at the same time.
    """
    outcome = _outcome(path, limits, answers.decode_result, "read")
    if isinstance(outcome, Unreadable):
        raise outcome
    return refine_label(outcome, name)


def draw_page(path: Path, limits: Limits, index: int) -> DrawnPage:
    """Return a page of a PDF; the first has the index 0. Blocks and raises as `read` does."""
    outcome = _outcome(path, limits, answers.decode_page, "draw_page", index)
    if isinstance(outcome, Unreadable):
        raise outcome
    return outcome


def draw_pages(path: Path, limits: Limits, indices: Sequence[int]) -> tuple[PlacedPicture, ...]:
    """Return pictures of pages of a PDF, in this order; at most `Limits.pictures`.

    They are placed as `read` places those of pages without text: right behind the mark that says
    so, and at 0 if the file is a `Scan`. Blocks and raises as `read` does.
    """
    if len(indices) > limits.pictures:
        raise ValueError(f"at most {limits.pictures} pages are drawn at once")
    decode = partial(answers.decode_pages, indices=indices)
    outcome = _outcome(path, limits, decode, "draw_pages", list(indices))
    if isinstance(outcome, Unreadable):
        raise outcome
    return outcome


def stop() -> None:
    """End all running subprocesses; their files are then `Unreadable`."""
    for process in list(_running):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _outcome(
    path: Path,
    limits: Limits,
    decode: Callable[[bytes, Limits], T],
    action: str,
    *arguments: object,
) -> T:
    """Return what the subprocess answers to an action, which is one of `child.ACTIONS`."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise refusals.empty()
        answer = _answer_to(file.fileno(), limits, [action, *arguments])
    try:
        return decode(answer, limits)
    except answers.BadAnswer as error:
        logger.warning("A subprocess gave a bad answer to a file: %s", error)
        raise refusals.crashed() from error


def _answer_to(file: int, limits: Limits, request: Sequence[object]) -> bytes:
    try:
        process = _start_process(file, limits, request)
    except OSError as error:  # such as at the limit of processes
        logger.warning("Could not start a process to read a file: %s", error)
        raise refusals.no_process() from error
    _running.add(process)
    try:
        answer = _receive_answer(process, limits)
        process.wait(timeout=limits.seconds)
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise refusals.too_slow(limits.seconds) from error
    finally:
        _kill(process)
        _running.discard(process)
    if process.returncode:
        raise _failure(process.returncode, limits)
    return answer


def _failure(status: int, limits: Limits) -> Unreadable:
    if status == answers.UNCONFINED:
        logger.error(
            "No file is read, because there is no seccomp filter for this kernel or processor"
        )
        return refusals.no_sandbox()
    logger.info("The process that read a file ended with %d", status)
    return refusals.too_slow(limits.seconds) if status == -signal.SIGXCPU else refusals.crashed()


def _start_process(file: int, limits: Limits, request: Sequence[object]) -> subprocess.Popen[bytes]:
    arguments = [json.dumps(asdict(limits)), json.dumps(request)]
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-I", "-c", START, str(ROOT), *arguments],
        cwd="/",
        env={},  # ours holds secrets
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,  # Ctrl-C is for the server only, and its whole group is killed
    )


def _receive_answer(process: subprocess.Popen[bytes], limits: Limits) -> bytes:
    """Return all that the subprocess writes. Raises `TimeoutError` and `Unreadable`."""
    assert process.stdout is not None
    left = answers.max_bytes(limits)
    give_up_at = time.monotonic() + ELAPSED_PER_CPU_SECOND * limits.seconds
    chunks: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while left >= 0:
            if not selector.select(max(0.0, give_up_at - time.monotonic())):
                raise TimeoutError
            chunk = os.read(process.stdout.fileno(), CHUNK_BYTES)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
            left -= len(chunk)
    logger.warning("A subprocess gave too long an answer to a file")
    raise refusals.crashed()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.stdout is not None
    process.stdout.close()
