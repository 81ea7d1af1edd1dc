"""Mails of Outlook; old Office files and encrypted new ones, which are refused.

All of them come in the same container.
"""

from typing import BinaryIO

from chatapp.documents import refusals
from chatapp.documents.formats.mail import outlook
from chatapp.documents.results import Document, Limits

DIRECTORY_BYTES = 2**24  # where the names of its parts are looked for
OUTDATED = {
    "WordDocument": ("Old Word (.doc)", ".docx"),
    "PowerPoint Document": ("Old PowerPoint (.ppt)", ".pptx"),
    "Workbook": ("Old Excel (.xls)", ".xlsx"),
    "Book": ("Old Excel (.xls)", ".xlsx"),
}
NAMES = {
    part: f"{part}\0".encode("utf-16-le")
    for part in ("EncryptedPackage", outlook.PROPERTIES, *OUTDATED)
}


def read(file: BinaryIO, limits: Limits) -> Document:
    content = file.read(DIRECTORY_BYTES)
    if NAMES[outlook.PROPERTIES] in content:
        return outlook.read(content + file.read(), limits)
    if NAMES["EncryptedPackage"] in content:
        raise refusals.encrypted("Office")
    for part, (kind, extension) in OUTDATED.items():
        if NAMES[part] in content:
            raise refusals.outdated(kind, extension)
    raise refusals.unknown_kind()
