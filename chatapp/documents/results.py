"""What reading a file gives, and the limits it keeps to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What is read at most. A file beyond a limit is refused, never cut."""

    pages: int = 1_000
    characters: int = 2_000_000
    pixels: int = 60_000_000  # of an image before it is scaled down
    image_side: int = 2_048  # pixels of the longest side after it is scaled down
    scanned_pages: int = 20
    seconds: float = 20.0  # of CPU time
    memory_bytes: int = 1024**3  # address space


@dataclass(frozen=True)
class Document:
    """The text of a file, page by page. A file without pages has one, and no `unit`."""

    media_type: str
    kind: str  # in people's words, such as "Word"
    unit: str  # "Page", "Slide", "Sheet" or ""
    pages: tuple[str, ...]  # Markdown if the file has structure, such as tables and headings


@dataclass(frozen=True)
class Picture:
    """An image that was decoded, turned upright, scaled down and encoded again without metadata."""

    media_type: str  # image/png or image/jpeg
    width: int
    height: int
    data: bytes
    thumbnail: bytes  # PNG or JPEG, at most 512 pixels wide or high


@dataclass(frozen=True)
class Scan:
    """A PDF without text: pictures of its first pages, at most `Limits.scanned_pages`."""

    media_type: str
    kind: str
    pages: tuple[Picture, ...]
    page_count: int


Result = Document | Picture | Scan


@dataclass(frozen=True)
class Run:
    """Some text on one line of a page, and where it is in the page's picture, in pixels."""

    text: str
    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True)
class DrawnPage:
    """A page of a PDF as people see it."""

    picture: Picture
    runs: tuple[Run, ...]


class Unreadable(Exception):
    """A file was not read. Its text is a sentence for the person who attached the file."""


class ReadableLater(Unreadable):
    """A file was not read because of the server, so reading it again can help."""
