"""Files that are ZIP archives: Word, PowerPoint, Excel, OpenDocument and EPUB."""

from typing import BinaryIO
from zipfile import BadZipFile

from chatapp.documents import refusals
from chatapp.documents.results import Document, Limits

from . import epub, opendocument, presentation, spreadsheet, word
from .archive import Archive
from .relationships import related
from .xml import local, parsed

IWORK = "Index/Document.iwa"


def read(file: BinaryIO, limits: Limits) -> Document:
    try:
        archive = Archive(file)
    except BadZipFile as error:
        raise refusals.damaged() from error
    if "mimetype" in archive:
        return _with_media_type(archive, file, limits)
    if IWORK in archive:
        raise refusals.outdated("Apple iWork", ".pdf")
    main = related(archive, "", "officeDocument")
    if main.startswith("word/"):
        return word.read(archive, main, limits)
    if main.startswith("ppt/"):
        return presentation.read(archive, main, limits)
    if main.startswith("xl/"):
        return spreadsheet.read(file, spreadsheet.EXCEL, limits)
    # Most programs, but not all, name the folders so.
    root = local(parsed(archive.part(main))) if main.endswith(".xml") else ""
    if root == "document":
        return word.read(archive, main, limits)
    if root == "presentation":
        return presentation.read(archive, main, limits)
    raise refusals.unknown_kind() if main else refusals.archive()


def _with_media_type(archive: Archive, file: BinaryIO, limits: Limits) -> Document:
    media_type = archive.part("mimetype").decode("ascii", "replace").strip()
    if media_type == epub.MEDIA_TYPE:
        return epub.read(archive, limits)
    if media_type not in opendocument.KINDS:
        raise refusals.unknown_kind()
    opendocument.check_encryption(archive)
    if media_type in opendocument.SPREADSHEETS:
        return spreadsheet.read(file, spreadsheet.OPENDOCUMENT, limits)
    return opendocument.read(archive, media_type, limits)
