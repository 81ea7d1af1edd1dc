"""Old Office files, which are refused, and encrypted new ones, which come in the same container."""

from typing import BinaryIO, NoReturn

from chatapp.documents import refusals
from chatapp.documents.results import Limits

DIRECTORY_BYTES = 2**24  # where the names of its parts are looked for
OUTDATED = {
    "WordDocument": ("Old Word (.doc)", ".docx"),
    "PowerPoint Document": ("Old PowerPoint (.ppt)", ".pptx"),
    "Workbook": ("Old Excel (.xls)", ".xlsx"),
    "Book": ("Old Excel (.xls)", ".xlsx"),
}
NAMES = {part: f"{part}\0".encode("utf-16-le") for part in ("EncryptedPackage", *OUTDATED)}


def read(file: BinaryIO, limits: Limits) -> NoReturn:
    content = file.read(DIRECTORY_BYTES)
    if NAMES["EncryptedPackage"] in content:
        raise refusals.encrypted("Office")
    for part, (kind, extension) in OUTDATED.items():
        if NAMES[part] in content:
            raise refusals.outdated(kind, extension)
    raise refusals.unknown_kind()
