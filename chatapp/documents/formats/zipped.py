"""Files that are ZIP archives: Word, PowerPoint, Excel, OpenDocument and EPUB."""

from posixpath import basename
from typing import BinaryIO
from zipfile import BadZipFile

from chatapp.documents import refusals
from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import find_related_part
from chatapp.documents.formats.office.xml import local, parse_xml
from chatapp.documents.formats.opendocument import opendocument
from chatapp.documents.formats.powerpoint import presentation
from chatapp.documents.formats.word import word
from chatapp.documents.results import Document, Limits

from . import epub
from .spreadsheets import excel, ods, ods_headers

IWORK = "Index/Document.iwa"


def read(file: BinaryIO, limits: Limits) -> Document:
    try:
        archive = Archive(file)
    except BadZipFile as error:
        raise refusals.damaged() from error
    if "mimetype" in archive or ods.CONTENT in archive:
        return _with_media_type(archive, limits)
    if IWORK in archive:
        raise refusals.outdated("Apple iWork", ".pdf")
    main = find_related_part(archive, "", "officeDocument")
    if main.startswith("word/"):
        return word.read(archive, main, limits)
    if main.startswith("ppt/"):
        return presentation.read(archive, main, limits)
    if main.startswith("xl/") or basename(main) == "workbook.xml":
        return excel.read(archive, main, limits)
    # Most programs, but not all, name the folders so.
    root = local(parse_xml(archive.part(main))) if main.endswith(".xml") else ""
    if root == "document":
        return word.read(archive, main, limits)
    if root == "presentation":
        return presentation.read(archive, main, limits)
    raise refusals.unknown_kind() if main else refusals.archive()


def _with_media_type(archive: Archive, limits: Limits) -> Document:
    if "mimetype" in archive:
        media_type = archive.part("mimetype").decode("ascii", "replace").strip()
    else:  # some programs leave it out
        media_type = ods_headers.read_manifest(archive).media_type
    if media_type == epub.MEDIA_TYPE:
        return epub.read(archive, limits)
    if media_type not in opendocument.KINDS:
        raise refusals.unknown_kind()
    if media_type in opendocument.SPREADSHEETS:
        return ods.read(archive, limits)
    if ods_headers.read_manifest(archive).is_encrypted:
        raise refusals.encrypted(opendocument.KIND)
    return opendocument.read(archive, media_type, limits)
