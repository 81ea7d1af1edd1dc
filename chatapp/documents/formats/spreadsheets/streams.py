"""Parses the XML of a part as a stream, so that a large part is never in memory as a whole.

As in `xml`, names are compared without their namespaces, and document types are refused because all
attacks are in their entities. Some programs write a document type that only names a file; it is
never loaded, so where these programs' files are read, it is accepted.
"""

from collections.abc import Callable
from typing import NoReturn
from xml.parsers import expat

from chatapp.documents import refusals
from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.xml import MAX_DEPTH

CHUNK_BYTES = 2**16
Attributes = dict[str, str]


class Names(dict[str, str]):
    """Names without their prefixes, by the names as they are in the file."""

    def __missing__(self, name: str) -> str:
        local = self[name] = name.rpartition(":")[2]
        return local


class Stream:
    """The text and the elements of a part: what is read of them is in a subclass."""

    accepts_document_types = False

    def __init__(self) -> None:
        self.names = Names()
        self._pieces: list[str] = []
        self._depth = 0

    def begin(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element; its attributes still have their prefixes."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def take_text(self) -> str:
        """Return the text since the last call."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    def read(self, archive: Archive, part: str) -> None:
        """Parse a part of the archive. Raises `Unreadable` and `ExpatError`."""
        parser = self._parser()
        with archive.open(part) as file:
            while chunk := file.read(CHUNK_BYTES):
                parser.Parse(chunk, False)
        parser.Parse(b"", True)

    def _parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        names, begin, end = self.names, self.begin, self.end

        def begin_element(name: str, attributes: Attributes) -> None:
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise refusals.damaged()
            begin(names[name], attributes)

        def end_element(name: str) -> None:
            self._depth -= 1
            end(names[name])

        parser.StartElementHandler = begin_element
        parser.EndElementHandler = end_element
        parser.CharacterDataHandler = self._pieces.append
        parser.StartDoctypeDeclHandler = self._begin_document_type
        parser.EntityDeclHandler = _refuse_entity
        return parser

    def _begin_document_type(self, *declaration: object) -> None:
        has_declarations = bool(declaration[-1])
        if has_declarations or not self.accepts_document_types:
            raise refusals.declares_entities()


def _refuse_entity(*_declaration: object) -> NoReturn:
    raise refusals.declares_entities()


def without_prefixes(attributes: Attributes) -> Attributes:
    """Return the attributes by their names without prefixes; the first of a name counts."""
    local_attributes: Attributes = {}
    for name, value in attributes.items():
        local_attributes.setdefault(name.rpartition(":")[2], value)
    return local_attributes


Handlers = dict[str, Callable[[Attributes], None]]
