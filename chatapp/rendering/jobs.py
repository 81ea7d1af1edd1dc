"""What a worker is asked, and what it answers, as they cross between the processes."""

import struct
from socket import socket

import msgspec

from chatapp.markdown import Block

_LENGTH = struct.Struct("!I")


class WholeText(msgspec.Struct, tag=True, frozen=True):
    """A text to `render`."""

    text: str


class Typed(msgspec.Struct, tag=True, frozen=True):
    """A text to show `as_typed`."""

    text: str


class SomeBlocks(msgspec.Struct, tag=True, frozen=True):
    """Finished blocks to draw, each with the definitions that it uses."""

    blocks: list[tuple[Block, str]]


Request = WholeText | Typed | SomeBlocks

encoded = msgspec.msgpack.encode
decoded_request = msgspec.msgpack.Decoder(Request).decode
decoded_answer = msgspec.msgpack.Decoder(list[str]).decode  # of a text one, of blocks one each


def send(connection: socket, content: bytes) -> None:
    """Raises `OSError` where the other side is gone or takes nothing in time."""
    connection.sendall(_LENGTH.pack(len(content)) + content)


def receive(connection: socket) -> bytes:
    """Raises `OSError` where nothing comes in time, `EOFError` where nothing will."""
    return _exactly(connection, *_LENGTH.unpack(_exactly(connection, _LENGTH.size)))


def _exactly(connection: socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = connection.recv(min(size - len(received), 1024 * 1024))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)
