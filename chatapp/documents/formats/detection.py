"""Says from the first bytes of a file which module reads it."""

from chatapp.documents import refusals

HEAD_BYTES = 4096
PACKAGE = "chatapp.documents.formats"
IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of Office until 2003
ARCHIVES = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\x28\xb5\x2f\xfd",
)
HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1")


def module_for(head: bytes) -> str:
    """Return the name of the module that reads a file. Raises `Unreadable` for other kinds."""
    start = head.lstrip(b"\xef\xbb\xbf\x00\t\n\r ")  # before a PDF, which readers accept
    if start.startswith(b"%PDF-"):
        return f"{PACKAGE}.pdf"
    if head.startswith(IMAGES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP"):
        return f"{PACKAGE}.images"
    if head.startswith(ZIP):
        return f"{PACKAGE}.zipped"
    if head.startswith(COMPOUND_FILE):
        return f"{PACKAGE}.compound"
    _refuse_others(head)
    return f"{PACKAGE}.plain_text"


def _refuse_others(head: bytes) -> None:
    if head.startswith(b"{\\rtf"):
        raise refusals.outdated("RTF", ".docx")
    if head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS:
        raise refusals.outdated("HEIC", ".jpg")
    if head.startswith(ARCHIVES):
        raise refusals.archive()
