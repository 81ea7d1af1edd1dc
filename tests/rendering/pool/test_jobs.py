"""Messages between the processes survive a round trip or raise an error."""

from socket import socketpair

import pytest

from chatapp.rendering.markdown.blocks import split
from chatapp.rendering.pool.jobs import (
    Request,
    SomeBlocks,
    Typed,
    WholeText,
    decode_answer,
    decode_request,
    encode,
    receive,
    send,
)

BLOCKS = [(block, "[a]: /b") for block in split("- a\n  - b\n\n```py\nx\n```\n\n|a|\n|-|\n")]


REQUESTS = [WholeText("a é"), Typed("a é"), SomeBlocks(BLOCKS), SomeBlocks([])]


@pytest.mark.parametrize("request_", REQUESTS)
def test_requests_survive_a_round_trip(request_: Request) -> None:
    assert decode_request(encode(request_)) == request_


def test_answers_survive_a_round_trip() -> None:
    assert decode_answer(encode(["<p>a</p>", ""])) == ["<p>a</p>", ""]


@pytest.mark.parametrize("content", [b"", b"a" * 100_000])
def test_consecutive_messages_are_separate(content: bytes) -> None:
    mine, theirs = socketpair()
    with mine, theirs:
        send(mine, b"first")
        send(mine, content)
        assert (receive(theirs), receive(theirs)) == (b"first", content)


def test_a_partial_message_is_an_error() -> None:
    mine, theirs = socketpair()
    with theirs:
        with mine:
            mine.sendall(b"\0\0\0\x05abc")
        with pytest.raises(EOFError):
            receive(theirs)


def test_a_timeout_is_an_error() -> None:
    mine, theirs = socketpair()
    with mine, theirs:
        theirs.settimeout(0.01)
        with pytest.raises(OSError, match="timed out"):
            receive(theirs)
