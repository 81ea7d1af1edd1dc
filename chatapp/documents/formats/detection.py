"""Says from the first bytes of a file which module reads it."""

import re

from chatapp.documents import refusals
from chatapp.documents.results import Unreadable

HEAD_BYTES = 2**14
PACKAGE = "chatapp.documents.formats"
COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of Office until 2003
# The first signature that a file begins with names the module that reads it.
MODULES = (
    (b"\x89PNG\r\n\x1a\n", "images.images"),
    (b"\xff\xd8\xff", "images.images"),
    (b"GIF87a", "images.images"),
    (b"GIF89a", "images.images"),
    (b"II*\0", "images.tiff"),
    (b"MM\0*", "images.tiff"),
    (b"II+\0", "images.tiff"),
    (b"MM\0+", "images.tiff"),
    (b"PK\x03\x04", "zipped"),
    (b"PK\x05\x06", "zipped"),
    (COMPOUND_FILE, "compound"),
    (b"{\\rtf", "rtf.rtf"),
)
ARCHIVES = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\x28\xb5\x2f\xfd",
)
RAW, JPEG_XL, JPEG_2000 = "RAW photo", "JPEG XL", "JPEG 2000"
# Pictures that are not read: their signatures, what people call them, and what to save them as.
OTHER_PICTURES = (
    (b"\xff\x0a", JPEG_XL, ".jpg"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", JPEG_XL, ".jpg"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", JPEG_2000, ".jpg"),
    (b"\xff\x4f\xff\x51", JPEG_2000, ".jpg"),
    (b"FUJIFILMCCD-RAW", RAW, ".jpg"),
    (b"IIRO", RAW, ".jpg"),
    (b"IIRS", RAW, ".jpg"),
    (b"IIU\0", RAW, ".jpg"),
    (b"8BPS", "Photoshop", ".png"),
    (b"8BPB", "Photoshop", ".png"),
    (b"\0\0\1\0", "Icon", ".png"),
    (b"\xc5\xd0\xd3\xc6", "EPS", ".pdf"),
    (b"\x78\x9f\x3e\x22", "Outlook winmail.dat", ".eml"),
)
SOUNDS = (b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"#!AMR")
VIDEOS = (b"\x1a\x45\xdf\xa3", b"\0\0\1\xba", b"FLV\1")
# The brands of ISO base media files, which begin with a box named "ftyp".
HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
AVIF_BRANDS = (b"avif", b"avis")
# A mail begins with header fields, and only mails have some of them (RFC 5322).
HEADER = re.compile(rb"(?:From [^\n]{1,200}\n)?(?:[!-9;-~]{1,76}:[^\n]*\n(?:[ \t][^\n]*\n)*){2,}")
MAIL_FIELDS = re.compile(
    rb"^(?:From|Received|Return-Path|Delivered-To|Message-ID|MIME-Version|Date|Subject|To):",
    re.IGNORECASE | re.MULTILINE,
)
MIN_MAIL_FIELDS = 3
PATCH = re.compile(rb"From [0-9a-f]{40} Mon Sep 17 00:00:00 2001\r?\n")  # which Git wrote


def module_for(head: bytes) -> str:
    """Return the name of the module that reads a file. Raises `Unreadable` for other kinds."""
    return f"{PACKAGE}.{_module_for(head)}"


def _module_for(head: bytes) -> str:
    start = head.lstrip(b"\xef\xbb\xbf\x00\t\n\r ")  # before a PDF, which readers accept
    if start.startswith(b"%PDF-"):
        return "pdf.pdf"
    if head.startswith((b"II*\0", b"MM\0*")) and head[8:10] == b"CR":
        raise refusals.outdated(RAW, ".jpg")
    if module := next((module for mark, module in MODULES if head.startswith(mark)), ""):
        return module
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        return "images.images"
    if head.startswith(b"RIFF"):
        return _in_riff(head[8:12])
    if head[4:8] == b"ftyp":
        return _in_base_media(head)
    if refusal := _other_kind(head):
        raise refusal
    return "mail.mail" if is_mail(head) else "text.plain_text"


def is_mail(head: bytes) -> bool:
    """Return whether a file begins like a mail, rather than as notes with a colon in them."""
    start = head.lstrip(b"\xef\xbb\xbf\r\n").replace(b"\r\n", b"\n")
    header = HEADER.match(start + b"\n")
    if not header or PATCH.match(start):
        return False
    fields = {each.lower() for each in MAIL_FIELDS.findall(header[0])}
    return len(fields) >= MIN_MAIL_FIELDS or (start.startswith(b"From ") and bool(fields))


def _in_riff(kind: bytes) -> str:
    if kind == b"WEBP":
        return "images.images"
    raise refusals.unknown_kind("Audio files" if kind == b"WAVE" else "Videos")


def _in_base_media(head: bytes) -> str:
    brand = head[8:12]
    if brand in HEIF_BRANDS + AVIF_BRANDS:
        return "images.images"
    if brand == b"crx ":
        raise refusals.outdated(RAW, ".jpg")
    raise refusals.unknown_kind("Audio files" if brand.startswith(b"M4A") else "Videos")


def _other_kind(head: bytes) -> Unreadable | None:
    for signature, kind, extension in OTHER_PICTURES:
        if head.startswith(signature):
            return refusals.outdated(kind, extension)
    if head[60:68] == b"BOOKMOBI":
        return refusals.outdated("Kindle", ".epub")
    if head.startswith(ARCHIVES):
        return refusals.archive()
    if head.startswith(SOUNDS):
        return refusals.unknown_kind("Audio files")
    return refusals.unknown_kind("Videos") if head.startswith(VIDEOS) else None
