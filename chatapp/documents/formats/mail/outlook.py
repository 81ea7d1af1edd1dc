"""Mails that Outlook saved (`.msg`): a compound file of properties. See MS-OXMSG and MS-OXPROPS."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from io import BytesIO

import olefile

from chatapp.documents import refusals
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.formats.rtf import rtf
from chatapp.documents.formats.rtf.compressed import decompress_rtf
from chatapp.documents.formats.text.encoded_text import decode_as
from chatapp.documents.results import Document, Limits

from . import attachments, mail
from .writer import Attachment, Body, Mail, MailWriter

KIND, MEDIA_TYPE = "Outlook mail", "application/vnd.ms-outlook"
PROPERTIES = "__properties_version1.0"
TEXT, TEXT_8_BIT, BINARY, STORAGE = "001F", "001E", "0102", "000D"  # types of properties
SUBJECT = "0037"
SENDER_NAME, SENDER_ADDRESS, SENDER_SMTP = "0C1A", "0C1F", "5D01"
AUTHOR_NAME, AUTHOR_ADDRESS, AUTHOR_SMTP = "0042", "0065", "5D02"  # on whose behalf it was sent
DISPLAY_TO, DISPLAY_CC, DISPLAY_BCC = "0E04", "0E03", "0E02"
SUBMIT_TIME, DELIVERY_TIME, CODE_PAGE, INTERNET_CODE_PAGE = 0x0039, 0x0E06, 0x3FFD, 0x3FDE
BODY, BODY_HTML, BODY_RTF = "1000", "1013", "1009"
NAME, ADDRESS, SMTP_ADDRESS, RECIPIENT_TYPE = "3001", "3003", "39FE", 0x0C15
FILE_NAME, SHORT_FILE_NAME, FILE_TYPE, CONTENT_ID, DATA = "3707", "3704", "370E", "3712", "3701"
ATTACH_METHOD = 0x3705
REASONS = dict.fromkeys((2, 3, 4, 7), "It is only a link to a file.")  # by methods
REASONS[6] = "Embedded objects are not read."
RECIPIENT_FIELDS = {1: "To", 2: "Cc", 3: "Bcc"}
HEADER_BYTES = 8  # before the properties of a recipient or attachment
HEADER_BYTES_OF_FILE, HEADER_BYTES_OF_MAIL = 32, 24
ENCODINGS = {65001: "utf-8", 20127: "ascii", 28591: "latin-1", 50220: "iso-2022-jp"}
ENCODINGS |= {51932: "euc-jp", 936: "gb18030", 54936: "gb18030", 20866: "koi8-r"}
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def read(content: bytes, limits: Limits) -> Document:
    try:
        file = olefile.OleFileIO(BytesIO(content))
    except OSError as error:
        raise refusals.damaged(KIND) from error
    pages = IllustratedPages(limits)
    message = _Storage(file, (), HEADER_BYTES_OF_FILE)
    pages.add(MailWriter(limits, pages).write(_mail(message, pages)))
    return Document(MEDIA_TYPE, KIND, "", pages.whole(KIND), pages.pictures, pages.left_out)


@dataclass
class _Storage:
    """A folder of a compound file with the properties of a mail, a recipient or an attachment."""

    file: olefile.OleFileIO
    path: tuple[str, ...]
    header_bytes: int = HEADER_BYTES
    encoding: str = "cp1252"

    def __post_init__(self) -> None:
        code_page = self.number(CODE_PAGE) or self.number(INTERNET_CODE_PAGE)
        if code_page:
            self.encoding = ENCODINGS.get(code_page, f"cp{code_page}")

    def inner(self, prefix: str) -> Iterator["_Storage"]:
        """Yield the folders in it whose name begins with a prefix, in their order."""
        depth = len(self.path)
        names = {
            entry[depth]
            for entry in self.file.listdir(streams=False, storages=True)
            if len(entry) == depth + 1
            and tuple(entry[:depth]) == self.path
            and entry[depth].startswith(prefix)
        }
        for name in sorted(names):
            yield _Storage(self.file, (*self.path, name), encoding=self.encoding)

    def stream(self, name: str) -> bytes:
        path = [*self.path, name]
        if not self.file.exists(path) or self.file.get_type(path) != olefile.STGTY_STREAM:
            return b""
        data: bytes = self.file.openstream(path).read()
        return data

    def binary(self, property_: str) -> bytes:
        return self.stream(f"__substg1.0_{property_}{BINARY}")

    def text(self, *properties: str) -> str:
        """Return the first of the properties that is there."""
        for property_ in properties:
            if data := self.stream(f"__substg1.0_{property_}{TEXT}"):
                return data.decode("utf_16_le", "replace").rstrip("\0")
            if data := self.stream(f"__substg1.0_{property_}{TEXT_8_BIT}"):
                return decode_as(data.rstrip(b"\0"), self.encoding)
        return ""

    def number(self, property_: int) -> int:
        """Return a property of fixed length, as the number of its eight bytes."""
        data = self.stream(PROPERTIES)[self.header_bytes :]
        for start in range(0, len(data) - 15, 16):
            tag, _, value = struct.unpack_from("<IIQ", data, start)
            if tag >> 16 == property_:
                # A number of 32 bits leaves the other half undefined.
                return int(value & 0xFFFFFFFF) if tag & 0xFFFF == 3 else int(value)
        return 0


def _mail(message: _Storage, pages: IllustratedPages) -> Mail:
    text = message.text(BODY)
    page = "" if text.strip() else _page(message)
    if not text.strip() and not page.strip():
        text = _rich_text(message, pages)
    bodies = (Body(text), Body(page, is_page=True))
    return Mail(_fields(message), bodies, tuple(_attachments(message, pages)))


def _fields(message: _Storage) -> dict[str, str]:
    sender = _person(
        message.text(AUTHOR_NAME, SENDER_NAME),
        message.text(AUTHOR_SMTP, SENDER_SMTP, AUTHOR_ADDRESS, SENDER_ADDRESS),
    )
    fields = {"From": sender, "Subject": message.text(SUBJECT), "Date": _date(message)}
    recipients: dict[str, list[str]] = {}
    for each in message.inner("__recip_version1.0_"):
        kind = RECIPIENT_FIELDS.get(each.number(RECIPIENT_TYPE), "To")
        person = _person(each.text(NAME), each.text(SMTP_ADDRESS, ADDRESS))
        recipients.setdefault(kind, []).append(person)
    displayed = {"To": DISPLAY_TO, "Cc": DISPLAY_CC, "Bcc": DISPLAY_BCC}
    for name, property_ in displayed.items():
        fields[name] = ", ".join(recipients.get(name, [])) or message.text(property_)
    return fields


def _person(name: str, address: str) -> str:
    if "@" not in address or name == address:  # such as the path of a person in a directory
        return name or address
    return f"{name} <{address}>" if name else address


def _date(message: _Storage) -> str:
    ticks = message.number(SUBMIT_TIME) or message.number(DELIVERY_TIME)
    try:
        return format_datetime(EPOCH + timedelta(microseconds=ticks // 10)) if ticks else ""
    except OverflowError:
        return ""


def _page(message: _Storage) -> str:
    code_page = message.number(INTERNET_CODE_PAGE)
    encoding = ENCODINGS.get(code_page, f"cp{code_page}") if code_page else None
    if data := message.binary(BODY_HTML):
        return decode_as(data.rstrip(b"\0"), encoding)
    return message.text(BODY_HTML)


def _rich_text(message: _Storage, pages: IllustratedPages) -> str:
    data = message.binary(BODY_RTF)
    return "\n\n".join(rtf.to_pages(decompress_rtf(data), pages)) if data else ""


def _attachments(message: _Storage, pages: IllustratedPages) -> Iterator[Attachment]:
    for each in message.inner("__attach_version1.0_"):
        name = each.text(FILE_NAME, SHORT_FILE_NAME, NAME)
        path = (*each.path, f"__substg1.0_{DATA}{STORAGE}")
        inner = _Storage(each.file, path, HEADER_BYTES_OF_MAIL, each.encoding)
        if inner.stream(PROPERTIES):
            yield Attachment(name, MEDIA_TYPE, mail=partial(_mail, inner, pages))
            continue
        content = each.binary(DATA)
        reason = "" if content else REASONS.get(each.number(ATTACH_METHOD), "")
        media_type = each.text(FILE_TYPE)
        content_id = each.text(CONTENT_ID).strip("<>")
        parse = mail.parser_for(content)
        yield Attachment(name, media_type, content, content_id, parse, reason)


attachments.import_readers()
