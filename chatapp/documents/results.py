"""Results of reading a file, and the limits on it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits on the files that are read. A file beyond a limit is refused, never cut."""

    pages: int = 1_000
    characters: int = 2_000_000
    cells: int = 1_000_000  # of a spreadsheet; those without a value don't count
    pixels: int = 60_000_000  # of an image before it is scaled down
    image_side: int = 2_048  # pixels of the longest side after it is scaled down
    pictures: int = 20  # of a document: those in its text, or its pages without text
    seconds: float = 20.0  # of CPU time
    memory_bytes: int = 1024**3  # address space


# What can be left out of a file, in the singular; people read it with a count: "3 pictures".
LEFT_OUT = (
    *("picture", "page", "frame", "attachment", "comment", "tracked deletion"),
    *("chart", "chart value", "equation", "script", "macro project"),
)


@dataclass(frozen=True)
class LeftOut:
    """Something of a file that is not sent. If it has a place, the text says so there, too."""

    what: str  # of `LEFT_OUT`
    count: int


@dataclass(frozen=True)
class Picture:
    """An image that was decoded, turned upright, scaled down and encoded again without metadata."""

    media_type: str  # image/png or image/jpeg
    width: int
    height: int
    data: bytes
    thumbnail: bytes  # PNG or JPEG, at most 512 pixels wide or high
    left_out: tuple[LeftOut, ...] = ()  # such as the other frames of an animation


@dataclass(frozen=True)
class PlacedPicture:
    """A picture in the text of a document, or a page of it that is only a picture."""

    page: int  # the index of its page
    offset: int  # the characters of the page before it, which end with its mark
    picture: Picture


@dataclass(frozen=True)
class Document:
    """The text of a file, page by page. A file without pages has one, and no `unit`."""

    media_type: str
    kind: str  # in people's words, such as "Word"
    unit: str  # "Page", "Slide", "Sheet" or ""
    pages: tuple[str, ...]  # Markdown if the file has structure, such as tables and headings
    pictures: tuple[PlacedPicture, ...] = ()  # in their order, at most `Limits.pictures`
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Scan:
    """A file without text: pictures of its first pages, at most `Limits.pictures`."""

    media_type: str
    kind: str
    pages: tuple[Picture, ...]
    page_count: int
    left_out: tuple[LeftOut, ...] = ()  # such as attached files


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
