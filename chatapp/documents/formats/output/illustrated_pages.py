"""Collects the text of a file page by page, with its pictures in their places."""

import io
import re
from hashlib import sha256

from chatapp.documents.formats.images import images
from chatapp.documents.results import Document, Limits, Picture, PlacedPicture, Unreadable

from .pages import NEWLINE_CHARACTERS, Pages, clean_text

# Stands for a picture in a text that is not added yet. XML can't contain it.
STAND_IN = re.compile("\x1a([0-9]{1,9})\x1a")
MARK_AT_END = re.compile(r"\[Picture ([0-9]{1,9})(?:: ([^\n]{0,200}))?\]\Z")
PAGE_MARK_AT_END = re.compile(r"\[(Page [0-9]{1,9}) is a picture\]\Z")  # of a PDF
MARK_AGAIN = re.compile(r"\[Picture ([0-9]{1,9}) again\]")
MAX_DESCRIPTION_LENGTH = 200
MAX_SIDE_OF_ORNAMENTS = 24  # pixels; bullets and icons


class IllustratedPages(Pages):
    """Pages with pictures.

    `picture` takes a picture and returns what stands for it in a text that is added later. There it
    becomes a mark that people and models read, and the place of the picture is right behind it.
    """

    def __init__(self, limits: Limits, unit: str = "Page") -> None:
        super().__init__(limits, unit)
        self._marks: list[str] = []
        self._numbers: dict[bytes, int] = {}  # of pictures, by their digests; 0 of ornaments
        self._pictures: dict[int, Picture] = {}  # those not placed yet, by the index of their mark
        self._placed: list[PlacedPicture] = []
        self._count = 0  # of pictures with a number

    def picture(self, content: bytes, description: str = "") -> str:
        """Take a picture of the file; return what stands for it. The description may be empty."""
        digest = sha256(content).digest()
        if (earlier_number := self._numbers.get(digest)) is not None:
            return self._stand_in(f"[Picture {earlier_number} again]") if earlier_number else ""
        number = self._number(digest)
        picture, problem = self._read_picture(content)
        if picture is None:
            self.leave_out("picture")
            return self._stand_in(_mark(f"{number} is left out: {problem}", description))
        if max(picture.width, picture.height) <= MAX_SIDE_OF_ORNAMENTS:
            self.leave_out("picture")
            self._numbers[digest] = 0
            self._count -= 1
            return ""
        self._pictures[len(self._marks)] = picture
        return self._stand_in(_mark(f"{number}", description))

    def place(self, picture: Picture, description: str = "") -> str:
        """Take a picture that was read already, such as one of an attachment of a mail."""
        digest = sha256(picture.data).digest()
        if earlier_number := self._numbers.get(digest):
            return self._stand_in(f"[Picture {earlier_number} again]")
        number = self._number(digest)
        if not self.room:
            self.leave_out("picture")
            return self._stand_in(
                _mark(
                    f"{number} is left out: {f'only the first {self._limits.pictures} are sent'}",
                    description,
                )
            )
        self._pictures[len(self._marks)] = picture
        return self._stand_in(_mark(f"{number}", description))

    def include(self, document: Document) -> str:
        """Take the pictures of another document; return its text with what stands for them."""
        text, numbers = "", dict[str, int]()
        for index, page in enumerate(document.pages):
            start = 0
            for placed in document.pictures:
                if placed.page == index:
                    before = page[start : placed.offset]
                    if mark := MARK_AT_END.search(before):
                        text += before[: mark.start()] + self.place(placed.picture, mark[2] or "")
                        numbers[mark[1]] = self._numbers[sha256(placed.picture.data).digest()]
                    elif page_mark := PAGE_MARK_AT_END.search(before):
                        text += before[: page_mark.start()]
                        text += self.place(placed.picture, page_mark[1])
                    else:
                        text += before + self.place(placed.picture, f"Page {index + 1}")
                    start = placed.offset
            text += page[start:] + "\n\n"
        for left in document.left_out:
            self.leave_out(left.what, left.count)
        return MARK_AGAIN.sub(
            lambda mark: f"[Picture {numbers.get(mark[1], mark[1])} again]", text
        ).strip("\n")

    def add(self, text: str) -> None:
        pieces = STAND_IN.split(text.strip(NEWLINE_CHARACTERS))
        page = clean_text(pieces[0])
        for number, following in zip(pieces[1::2], pieces[2::2], strict=True):
            page += self._marks[int(number)] if int(number) < len(self._marks) else ""
            if picture := self._pictures.pop(int(number), None):
                self._placed.append(PlacedPicture(len(self._texts), len(page), picture))
            page += clean_text(following)
        super().add(page)

    @property
    def pictures(self) -> tuple[PlacedPicture, ...]:
        return tuple(self._placed)

    @property
    def room(self) -> int:
        """The number of pictures that can still be added."""
        return max(self._limits.pictures - len(self._placed) - len(self._pictures), 0)

    def _number(self, digest: bytes) -> int:
        """Return the number of a picture that is new."""
        self._count += 1
        self._numbers[digest] = self._count
        return self._count

    def _stand_in(self, mark: str) -> str:
        self._marks.append(mark)
        return f"\x1a{len(self._marks) - 1}\x1a"

    def _read_picture(self, content: bytes) -> tuple[Picture | None, str]:
        """Return a picture, or None and why it is left out."""
        if not self.room:
            return None, f"only the first {self._limits.pictures} are sent"
        try:
            return images.read(io.BytesIO(content), self._limits), ""
        except Unreadable:
            return None, "it can't be read"


def _mark(words: str, description: str) -> str:
    about = " ".join(clean_text(description).split())[:MAX_DESCRIPTION_LENGTH]
    return f"[Picture {words}: {about}]" if about else f"[Picture {words}]"
