"""Chunked bodies, split anywhere: the decoded body, and the bytes left for a full parser."""

import pytest

from chatapp.upstream.wire.decoding.chunked import BrokenCoding, Decoder

PARTS = [b"data: 1\n\n", b"\r\n", b"0\r\n\r\n", b"x" * 300]
CHUNKS = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in PARTS)


def decode_reads(*reads: bytes) -> tuple[bytes, bytes]:
    """Return the decoded body and the bytes that are left."""
    decoder, body, left = Decoder(), b"", b""
    for data in reads:
        if decoder.is_over:
            left += data
        elif data:
            body += decoder.receive_data(data)
    return body, decoder.trailing_bytes + left


@pytest.mark.parametrize(
    "trailing_bytes",
    [
        b"0\r\n\r\n",
        b"0\r\nServer-Timing: x\r\n\r\n",
        b"5;name=value\r\nHello\r\n0\r\n\r\n",
        b"05\r\nHello\r\n",
        b"5\nHello\n",
        b"+5\r\nHello\r\n",
        b"no chunk",
        b"\r\n",
        b"f" * 16 + b"\r\n",
    ],
)
def test_anything_but_plain_chunks_is_left_at_every_split(trailing_bytes: bytes) -> None:
    data = CHUNKS + trailing_bytes
    expected = (b"".join(PARTS), trailing_bytes)
    assert decode_reads(data) == expected
    assert decode_reads(*(bytes([byte]) for byte in data)) == expected
    for cut in range(len(data)):
        assert decode_reads(data[:cut], data[cut:]) == expected


def test_parts_are_returned_as_soon_as_they_arrive() -> None:
    decoder = Decoder()
    parts = [decoder.receive_data(data) for data in (b"5\r", b"\nHe", b"llo", b"\r", b"\n3\r\na")]
    assert parts == [b"", b"He", b"llo", b"", b"a"]


@pytest.mark.parametrize("end", [b"xx", b"\n\n", b"\rx", b"0\r\n"])
def test_a_chunk_of_the_wrong_size_is_an_error_at_every_split(end: bytes) -> None:
    data = b"5\r\nHello" + end
    for cut in range(len(data)):
        with pytest.raises(BrokenCoding):
            decode_reads(data[:cut], data[cut:])


def test_data_cut_inside_a_chunk_leaves_no_rest() -> None:
    assert decode_reads(b"5\r\nHel") == (b"Hel", b"")
    assert decode_reads(b"5\r\nHello\r") == (b"Hello", b"")
