"""Old Office files, which are refused, and encrypted new ones, which come in the same container."""

from typing import BinaryIO, NoReturn

from chatapp.documents import refusals
from chatapp.documents.results import Limits

DIRECTORY_BYTES = 2**24  # where the names of its parts are looked for


def read(file: BinaryIO, limits: Limits) -> NoReturn:
    content = file.read(DIRECTORY_BYTES)
    if _names(content, "EncryptedPackage"):
        raise refusals.encrypted("Office")
    if _names(content, "WordDocument"):
        raise refusals.outdated("Old Word (.doc)", ".docx")
    if _names(content, "PowerPoint Document"):
        raise refusals.outdated("Old PowerPoint (.ppt)", ".pptx")
    if _names(content, "Workbook") or _names(content, "Book"):
        raise refusals.outdated("Old Excel (.xls)", ".xlsx")
    raise refusals.unknown_kind()


def _names(content: bytes, part: str) -> bool:
    return f"{part}\0".encode("utf-16-le") in content
