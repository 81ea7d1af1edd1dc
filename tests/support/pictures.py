"""Images as bytes, as large as a test needs them, or as large as they claim to be."""

import base64
import struct
import zlib

WEBP = base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")  # one pixel
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def png(width: int, height: int, colour: bytes = b"\x80\x20\xa0") -> bytes:
    """Return an image of a single colour."""
    rows = (b"\0" + colour * width) * height
    return claimed_png(width, height, zlib.compress(rows))


def claimed_png(width: int, height: int, data: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def jpeg(width: int, height: int) -> bytes:
    """Return the bytes up to the frame header, which follows a table and fill bytes."""
    frame = struct.pack(">HBHHB", 8, 8, height, width, 0)
    return b"\xff\xd8\xff\xc4\x00\x04ab\xff\xff\xff\xc2" + frame + b"\xff\xda"


def webp(width: int, height: int, inside: tuple[int, int]) -> bytes:
    """Return a canvas with a picture of another size inside."""
    canvas = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    picture = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", *inside)
    chunks = b"VP8X\x0a\0\0\0" + canvas + b"VP8 \x0a\0\0\0" + picture
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WEBP" + chunks


def _chunk(name: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + check
