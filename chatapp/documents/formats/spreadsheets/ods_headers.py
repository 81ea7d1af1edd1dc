"""Headers and footers of OpenDocument sheets, and what the manifest says of a file."""

from dataclasses import dataclass, field

from chatapp.documents.formats.office.archive import Archive

from .header_codes import join_sections
from .streams import Attributes, Stream, without_prefixes

MANIFEST = "META-INF/manifest.xml"
STYLES = "styles.xml"
KINDS = {
    "header": "Header",
    "header-left": "Header",
    "header-first": "Header",
    "footer": "Footer",
    "footer-left": "Footer",
    "footer-first": "Footer",
}
REGIONS = ("region-left", "region-center", "region-right")
NUMBERS = ("page-number", "page-count")


@dataclass
class Header:
    kind: str
    sections: list[str] = field(default_factory=lambda: [""])

    def write(self, sheet_name: str) -> str:
        """Return the header as a block, or an empty text if it has only numbers of pages."""
        text = join_sections(self.sections, sheet_name)
        return f"[{self.kind}: {text}]" if text else ""


def read_headers(archive: Archive) -> dict[str, list[Header]]:
    """Return the headers and footers by the names of the page layouts that have them."""
    reader = _HeaderReader()
    if STYLES in archive:
        reader.read(archive, STYLES)
    return reader.headers


class _HeaderReader(Stream):
    accepts_document_types = True

    def __init__(self) -> None:
        super().__init__()
        self.headers: dict[str, list[Header]] = {}
        self._master = ""
        self._header: Header | None = None
        self._before = ""  # a field

    def begin(self, name: str, attributes: Attributes) -> None:
        if name == "master-page":
            self._master = without_prefixes(attributes).get("name", "")
        elif name in KINDS and without_prefixes(attributes).get("display") != "false":
            self._header = Header(KINDS[name])
        elif name in REGIONS and self._header is not None:
            self._header.sections.append("")
        elif name == "p":
            self.take_text()
        elif name in NUMBERS or name == "sheet-name":
            self._before = self.take_text()
        elif name == "s":
            self._pieces.append(" ")

    def end(self, name: str) -> None:
        if name in NUMBERS or name == "sheet-name":
            self.take_text()
            self._pieces.append(self._before + ("#" if name in NUMBERS else ""))
        elif name == "p" and self._header is not None:
            self._header.sections[-1] += f" {self.take_text()}"
        elif name in KINDS and self._header is not None:
            self.headers.setdefault(self._master, []).append(self._header)
            self._header = None


@dataclass(frozen=True)
class Manifest:
    media_type: str
    is_encrypted: bool


def read_manifest(archive: Archive) -> Manifest:
    reader = _ManifestReader()
    if MANIFEST in archive:
        reader.read(archive, MANIFEST)
    return Manifest(reader.media_type, reader.is_encrypted)


class _ManifestReader(Stream):
    accepts_document_types = True  # OpenOffice 2 wrote one

    def __init__(self) -> None:
        super().__init__()
        self.media_type = ""
        self.is_encrypted = False

    def begin(self, name: str, attributes: Attributes) -> None:
        if name == "encryption-data":
            self.is_encrypted = True
        elif name == "file-entry":
            entry = without_prefixes(attributes)
            if entry.get("full-path") == "/":
                self.media_type = entry.get("media-type", "")
