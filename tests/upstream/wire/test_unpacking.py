"""Compressed bodies are decompressed at any split, within memory limits."""

import gzip
import zlib

import pytest

from chatapp.upstream.wire.decoding import unpacking
from chatapp.upstream.wire.decoding.unpacking import Unpacker
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamFailed

TEXT = "Größe 数 🚀 ".encode() * 50


def unpack_body(coding: str, *reads: bytes) -> bytes:
    unpacker = Unpacker(coding)
    return b"".join(piece for data in reads for piece in unpacker.receive_data(data))


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("x-gzip", gzip.compress(TEXT, mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("gzip", gzip.compress(TEXT, mtime=0) + b"something behind it"),
    ],
)
def test_a_body_is_decompressed_at_every_split(coding: str, packed: bytes) -> None:
    for i in range(len(packed)):
        assert unpack_body(coding, packed[:i], packed[i:]) == TEXT


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 200_000, 3_000_000])
def test_no_byte_of_a_large_body_is_held_back(size: int) -> None:
    assert len(unpack_body("gzip", gzip.compress(b"x" * size))) == size


@pytest.mark.parametrize(
    ("coding", "body", "kind"),
    [
        ("br", b"", ErrorKind.MALFORMED),
        ("gzip, gzip", b"", ErrorKind.MALFORMED),
        ("gzip", b"not packed at all", ErrorKind.MALFORMED),
        ("gzip", gzip.compress(b"\0" * 50_000_000), ErrorKind.TOO_LARGE),
    ],
)
def test_a_body_that_can_or_must_not_be_decompressed_fails(
    coding: str, body: bytes, kind: ErrorKind
) -> None:
    with pytest.raises(UpstreamFailed) as raised:
        unpack_body(coding, body)
    assert raised.value.error.kind is kind
    assert raised.value.error.message


def test_a_decompression_bomb_is_stopped_early_in_small_pieces() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    sizes: list[int] = []
    with pytest.raises(UpstreamFailed):
        sizes.extend(len(piece) for piece in Unpacker("gzip").receive_data(bomb))
    assert max(sizes) <= 65_536
    assert sum(sizes) <= unpacking.ALLOWANCE + unpacking.MAX_RATIO * len(bomb)
