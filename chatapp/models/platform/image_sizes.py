"""Reads the size of an image from its header.

Takes bytes and a media type; returns width and height in pixels, or None if the header does not
say. It decodes nothing, so a small file that would expand to gigabytes costs no more than others.
"""

from collections.abc import Iterator

# The markers of a JPEG's frame header, which has its size: C0 to CF except three tables.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
SCAN, END = 0xDA, 0xD9

Size = tuple[int, int]


def read_size(media_type: str, data: bytes) -> Size | None:
    """Return (width, height) of a PNG, JPEG or WebP image, or None."""
    readers = {
        "image/png": _read_png_size,
        "image/jpeg": _read_jpeg_size,
        "image/webp": _read_webp_size,
    }
    size = readers[media_type](data) if media_type in readers else None
    return size if size and min(size) > 0 else None


def _read_png_size(data: bytes) -> Size | None:
    """Read the IHDR chunk, which is always the first (https://www.w3.org/TR/png-3/#11IHDR)."""
    if data[8:16] != b"\0\0\0\rIHDR" or len(data) < 33:
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _read_jpeg_size(data: bytes) -> Size | None:
    """Read the first frame header, which precedes any scan (ITU-T T.81, annex B)."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes before a marker
            at += 1
        elif marker in FRAMES:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        elif marker in (SCAN, END):
            return None
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


def _read_webp_size(data: bytes) -> Size | None:
    """Return the largest size in any chunk: canvas and picture should agree, but need not
    (https://developers.google.com/speed/webp/docs/riff_container)."""
    sizes = [size for name, chunk in _chunks(data) if (size := _read_chunk_size(name, chunk))]
    if not sizes:
        return None
    return max(width for width, _ in sizes), max(height for _, height in sizes)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        yield data[at : at + 4], data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def _read_chunk_size(name: bytes, chunk: bytes) -> Size | None:
    if name == b"VP8X" and len(chunk) >= 10:
        return _read_little_endian(chunk[4:7]) + 1, _read_little_endian(chunk[7:10]) + 1
    if name == b"VP8 " and chunk[3:6] == b"\x9d\x01\x2a" and len(chunk) >= 10:
        return _read_little_endian(chunk[6:8]) & 0x3FFF, _read_little_endian(chunk[8:10]) & 0x3FFF
    if name == b"VP8L" and chunk[:1] == b"\x2f" and len(chunk) >= 5:
        packed = _read_little_endian(chunk[1:5])
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    return None


def _read_little_endian(value: bytes) -> int:
    return int.from_bytes(value, "little")
