"""The texts of an Excel file, which its cells refer to by their numbers."""

import re

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import find_related_part

from .streams import Attributes, Stream

ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")  # a character that XML can't contain, or `_x` itself


def read_strings(archive: Archive, main: str) -> list[str]:
    part = find_related_part(archive, main, "sharedStrings")
    reader = _StringReader()
    if part:
        reader.read(archive, part)
    return reader.strings


def unescape(text: str) -> str:
    if "_x" not in text:
        return text
    return ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


class _StringReader(Stream):
    """Joins the runs of each text. How the characters of a name are pronounced is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.strings: list[str] = []
        self._runs: list[str] = []
        self._is_phonetic = False

    def begin(self, name: str, attributes: Attributes) -> None:
        if name == "t":
            self.take_text()
        elif name == "rPh":
            self._is_phonetic = True

    def end(self, name: str) -> None:
        if name == "t" and not self._is_phonetic:
            self._runs.append(self.take_text())
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "si":
            self.strings.append(unescape("".join(self._runs)))
            self._runs.clear()
