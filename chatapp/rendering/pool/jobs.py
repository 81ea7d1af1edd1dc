"""Requests to a rendering worker and its answers, and how they are sent over a socket."""

import struct
from socket import socket

import msgspec

from chatapp.rendering.markdown import Block

_LENGTH = struct.Struct("!I")


class WholeText(msgspec.Struct, tag=True, frozen=True):
    """A Markdown text to render with `render`."""

    text: str


class Typed(msgspec.Struct, tag=True, frozen=True):
    """A text to render with `render_typed`."""

    text: str


class SomeBlocks(msgspec.Struct, tag=True, frozen=True):
    """Finished blocks to render, each with the link definitions that it uses."""

    blocks: list[tuple[Block, str]]


Request = WholeText | Typed | SomeBlocks

encode = msgspec.msgpack.encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_answer = msgspec.msgpack.Decoder(list[str]).decode  # one for a text, one per block


def send(connection: socket, content: bytes) -> None:
    """Send one message. Raises `OSError` if the peer is gone or does not read in time."""
    connection.sendall(_LENGTH.pack(len(content)) + content)


def receive(connection: socket) -> bytes:
    """Receive one message. Raises `OSError` on a timeout and `EOFError` if the peer is gone."""
    return _receive_exactly(connection, *_LENGTH.unpack(_receive_exactly(connection, _LENGTH.size)))


def _receive_exactly(connection: socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = connection.recv(min(size - len(received), 1024 * 1024))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)
