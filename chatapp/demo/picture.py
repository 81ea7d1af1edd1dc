"""A computed picture of hills at dusk, which the demo sends as a data URL."""

import base64
import math
import struct
import zlib
from functools import cache

WIDTH, HEIGHT = 240, 120  # small, because it is computed when the demo starts
SUN = (170, 75, 17)  # x, y, radius


@cache
def dusk() -> str:
    """Return a PNG with 8-bit colours (PNG specification, third edition, section 11)."""
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(row(y)) for y in range(HEIGHT))
    chunks = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def row(y: int) -> list[int]:
    return [value for x in range(WIDTH) for value in colour(x, y)]


def colour(x: int, y: int) -> tuple[int, int, int]:
    """Return a pixel's colour: the sky grows warmer downwards, with hills in front of the sun."""
    if y > 88 + 7 * math.sin(x / 19) + 4 * math.sin(x / 7):
        return (44, 52, 68)
    if math.hypot(x - SUN[0], y - SUN[1]) < SUN[2]:
        return (255, 226, 170)
    share = y / HEIGHT
    return (round(90 + 150 * share), round(100 + 60 * share), round(150 - 40 * share))


def chunk(name: bytes, data: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + checksum
