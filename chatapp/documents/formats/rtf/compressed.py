"""Unpacks the rich text of Outlook's mails. See MS-OXRTFCP."""

import struct

COMPRESSED, UNCOMPRESSED = b"LZFu", b"MELA"
HEADER_BYTES = 16
WINDOW_BYTES = 4096
MAX_BYTES = 64 * 2**20
# What the window begins with: words that many documents have.
PREFIX = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)


def decompress_rtf(data: bytes) -> bytes:
    """Return the rich text. Raises `ValueError` if the data is none."""
    if len(data) < HEADER_BYTES:
        raise ValueError("too short")
    size, kind = struct.unpack_from("<4xI4s", data)
    if kind == UNCOMPRESSED:
        return data[HEADER_BYTES : HEADER_BYTES + size]
    if kind != COMPRESSED:
        raise ValueError("neither compressed nor plain")
    return _unpack_text(data, min(size, MAX_BYTES))


def _unpack_text(data: bytes, size: int) -> bytes:
    window = bytearray(PREFIX.ljust(WINDOW_BYTES, b"\0"))
    at, position, text = len(PREFIX), HEADER_BYTES, bytearray()

    def write(byte: int) -> None:
        nonlocal at
        text.append(byte)
        window[at] = byte
        at = (at + 1) % WINDOW_BYTES

    while position < len(data) and len(text) < size:
        flags = data[position]
        position += 1
        for bit in range(8):
            if position >= len(data) or len(text) >= size:
                break
            if not flags >> bit & 1:
                write(data[position])
                position += 1
                continue
            reference = int.from_bytes(data[position : position + 2], "big")
            position += 2
            start, length = reference >> 4, (reference & 15) + 2
            if start == at:  # the mark of the end
                return bytes(text)
            for i in range(length):
                write(window[(start + i) % WINDOW_BYTES])
    return bytes(text[:size])
