"""Mails (RFC 5322 and MIME), and mailboxes with several of them."""

import re
from collections.abc import Callable, Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import collapse_rfc2231_value
from typing import BinaryIO, cast

from chatapp.documents import refusals
from chatapp.documents.formats import detection
from chatapp.documents.formats.output.illustrated_pages import STAND_IN, IllustratedPages
from chatapp.documents.formats.text import html
from chatapp.documents.formats.text.encoded_text import decode_as
from chatapp.documents.results import Document, Limits

from . import attachments
from .writer import FIELDS, Attachment, Body, Mail, MailWriter

KIND, MEDIA_TYPE = "Mail", "message/rfc822"
MAILBOX_LINE = re.compile(rb"^From [^\r\n]*\r?\n", re.MULTILINE)
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
BODIES = ("text/plain", "text/html")
MAILS = ("message/rfc822", "message/global", "message/partial")
MAX_PARTS = 1_000
MAX_STUB_LENGTH = 200  # letters of a text that is a stub if the page has more
MIN_STUB_RATIO = 3  # how much longer the page is if a longer text is a stub
ADDRESS = re.compile(r"\b(?:https?://|mailto:|cid:)[^\s<>()]{1,2000}")


def read(file: BinaryIO, limits: Limits) -> Document:
    mails = list(_split_mailbox(file.read()))
    unit = "Page" if len(mails) > 1 else ""
    pages = IllustratedPages(limits)
    pages.expect(len(mails))
    writer = MailWriter(limits, pages)
    for content in mails:
        pages.add(writer.write(parse(content)))
    return Document(MEDIA_TYPE, KIND, unit, pages.whole(KIND), pages.pictures, pages.left_out)


def _split_mailbox(content: bytes) -> Iterator[bytes]:
    """Yield the mails of a mailbox (RFC 4155), or the only mail."""
    content = content.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if not content.startswith(b"From "):
        yield content
        return
    starts = [
        match
        for match in MAILBOX_LINE.finditer(content)
        if content.endswith((b"\n\n", b"\n\r\n"), 0, match.start()) or not match.start()
    ]
    ends = [match.start() for match in starts[1:]] + [len(content)]
    for match, end in zip(starts, ends, strict=True):
        yield QUOTED_FROM.sub(rb"\1", content[match.end() : end])


def parse(content: bytes) -> Mail:
    return _mail(BytesParser(_class=EmailMessage, policy=policy.default).parsebytes(content))


def parser_for(content: bytes) -> Callable[[], Mail] | None:
    """Return what parses the content if it is a mail."""
    is_mail = detection.is_mail(content[: detection.HEAD_BYTES])
    return (lambda: parse(content)) if is_mail else None


def _mail(message: EmailMessage) -> Mail:
    fields = {name: _field(message, name) for name in FIELDS}
    parts = _Parts()
    parts.collect(message)
    return Mail(fields, parts.bodies, parts.attachments)


class _Parts:
    """The parts of a message: what is its body, and what it carries."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.attachments: list[Attachment] = []
        self._count = 0

    def collect(self, part: EmailMessage) -> None:
        self._count += 1
        if self._count > MAX_PARTS:
            raise refusals.too_many_parts(MAX_PARTS)
        if part.is_multipart() and part.get_content_maintype() == "multipart":
            self._collect_all(part)
        elif part.get_content_type() in MAILS and part.is_multipart():
            self.attachments.append(_attached_mail(part))
        elif part.get_content_type() in BODIES and not part.is_attachment():
            self.bodies.append(Body(_text(part), part.get_content_subtype() == "html"))
        else:
            self.attachments.append(_attachment(part))

    def _collect_all(self, part: EmailMessage) -> None:
        before = len(self.bodies)
        for each in cast(list[EmailMessage], part.get_payload()):
            self.collect(each)
        if part.get_content_subtype() == "alternative":
            self.bodies[before:] = _choose_alternative(self.bodies[before:])


def _choose_alternative(bodies: list[Body]) -> list[Body]:
    """Return the text, or the page if the text only says that there is one."""
    texts = [body for body in bodies if not body.is_page]
    pages = [body for body in bodies if body.is_page]
    length = _count_letters("\n".join(body.text for body in texts))
    if not length:
        return pages or texts
    scratch = IllustratedPages(Limits(pictures=0))
    page_length = sum(_count_letters(html.to_markdown(page.text, scratch)) for page in pages)
    is_stub = page_length > (1 if length < MAX_STUB_LENGTH else MIN_STUB_RATIO) * length
    return pages if is_stub else texts


def _count_letters(text: str) -> int:
    """Count letters and digits, but those of addresses, which pages have more of."""
    return sum(map(str.isalnum, ADDRESS.sub("", STAND_IN.sub("", text))))


def _attached_mail(part: EmailMessage) -> Attachment:
    (message,) = cast(list[EmailMessage], part.get_payload())[:1]
    name = _name(part) or _field(message, "Subject")
    return Attachment(name, "message/rfc822", mail=lambda: _mail(message))


def _attachment(part: EmailMessage) -> Attachment:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else _report(part)
    content_id = str(part.get("Content-ID", "")).strip().strip("<>")
    if part.get_content_maintype() == "text" and part.get_content_charset():
        content = decode_as(content, part.get_content_charset()).encode()
    media_type = part.get_content_type()
    return Attachment(_name(part), media_type, content, content_id, parser_for(content))


def _report(part: EmailMessage) -> bytes:
    """Return the fields of a report, such as why a mail was not delivered (RFC 3464)."""
    blocks = []
    for each in cast(list[EmailMessage], part.get_payload()) if part.is_multipart() else ():
        lines = [f"{name}: {value}" for name, value in each.raw_items()]
        body = each.get_payload()
        blocks.append("\n".join([*lines, body] if isinstance(body, str) else lines).strip())
    return "\n\n".join(blocks).encode("utf-8", "surrogateescape")


def _text(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    return decode_as(payload if isinstance(payload, bytes) else b"", part.get_content_charset())


def _name(part: EmailMessage) -> str:
    name = part.get_param("filename", None, "content-disposition") or part.get_param("name", "")
    return _readable(collapse_rfc2231_value(cast(str, name or "")))


def _field(message: EmailMessage, name: str) -> str:
    try:
        value = message.get(name, "")
    except (ValueError, IndexError, AttributeError, LookupError):  # bugs of the parser of fields
        value = dict(message.raw_items()).get(name, "")
    raw = next((str(v) for key, v in message.raw_items() if key.lower() == name.lower()), "")
    return _readable(raw if _has_raw_bytes(raw) else str(value))


def _readable(text: str) -> str:
    """Return a field in one line. Bytes that are no ASCII, against the standard, are decoded."""
    if _has_raw_bytes(text):
        text = decode_as(text.encode("utf-8", "surrogateescape"), "utf-8")
    return " ".join(text.split())


def _has_raw_bytes(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)


attachments.import_readers()
