"""What a file is, judged by its content, and its text or its image."""

import struct
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    pages: int = 2000
    characters: int = 2_000_000
    pixels: int = 100_000_000
    image_side: int = 2048
    scanned_pages: int = 20
    seconds: float = 60
    memory_bytes: int = 1024**3


@dataclass(frozen=True)
class Document:
    media_type: str
    kind: str
    unit: str
    pages: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    media_type: str
    width: int
    height: int
    data: bytes
    thumbnail: bytes


@dataclass(frozen=True)
class Scan:
    media_type: str
    kind: str
    pages: tuple[Picture, ...]
    page_count: int


class Unreadable(Exception):
    """A file can't be read; the message is a sentence for the person."""


def read(path: Path, limits: Limits, name: str = "") -> Document | Picture | Scan:
    data = path.read_bytes()
    if data.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", data[16:24])
        return Picture("image/png", width, height, data, data)
    try:
        return Document("text/plain", "Text", "", (data.decode(),))
    except UnicodeDecodeError as error:
        raise Unreadable("This is not a kind of file that can be read.") from error
