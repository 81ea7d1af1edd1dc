"""Writes a mail as text: its fields, its body once, and the files that it carries."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.formats.text import html
from chatapp.documents.results import Limits, Unreadable

from . import attachments

FIELDS = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject")
MAX_DEPTH = 3  # of mails in mails
MAX_ATTACHMENTS = 50  # of a file, those of the mails in it included
MAX_NAME_LENGTH = 200


@dataclass(frozen=True)
class Body:
    """The text of a mail, or a part of it. A page is HTML."""

    text: str
    is_page: bool = False


@dataclass(frozen=True)
class Mail:
    """A mail, as each format of mails gives it."""

    fields: dict[str, str]
    bodies: Sequence[Body] = ()
    attachments: Sequence["Attachment"] = ()


@dataclass(frozen=True)
class Attachment:
    """A file in a mail, or a mail in it."""

    name: str
    media_type: str
    content: bytes = b""
    content_id: str = ""  # by which the mail's page refers to a picture
    mail: Callable[[], Mail] | None = None  # parses the mail in it
    reason: str = ""  # why it has no content


@dataclass
class MailWriter:
    """Writes the mails of a file. The count of attachments and characters is for all of them."""

    limits: Limits
    pages: IllustratedPages
    _count: int = 0
    _characters: int = 0
    _start: float = field(default_factory=time.process_time)
    _placed: set[int] = field(default_factory=set)  # the ids of pictures that are in a page

    def write(self, mail: Mail, depth: int = 0) -> str:
        fields = (f"{name}: {mail.fields[name]}" for name in FIELDS if mail.fields.get(name))
        bodies = [
            self._page(body.text, mail) if body.is_page else body.text.strip("\r\n")
            for body in mail.bodies
            if body.text.strip()
        ]
        self._characters += sum(map(len, bodies))
        parts = ["\n".join(fields), *bodies]
        parts += [
            self._attachment(attachment, depth)
            for attachment in mail.attachments
            if id(attachment) not in self._placed
        ]
        return "\n\n".join(part for part in parts if part)

    def _page(self, page: str, mail: Mail) -> str:
        by_id = {each.content_id: each for each in mail.attachments if each.content_id}

        def resolve(address: str) -> bytes | None:
            attachment = by_id.get(address.removeprefix("cid:"))
            if attachment is None or not attachment.media_type.startswith("image/"):
                return None
            self._placed.add(id(attachment))
            return attachment.content

        return html.to_markdown(page, self.pages, resolve)

    def _attachment(self, attachment: Attachment, depth: int) -> str:
        name = " ".join((attachment.name or attachment.media_type).split())[:MAX_NAME_LENGTH]
        size = _size(len(attachment.content))
        try:
            kind, text = self._read_attachment(attachment, name, depth)
        except Unreadable as refusal:
            self.pages.leave_out("attachment")
            about = _about(attachment.media_type, size)
            return f"[Attachment {name}{about} is left out: {refusal}]"
        self._characters += len(text)
        return f"[Attachment {name}{_about(kind, size)}:]\n\n{text}\n\n[End of {name}]"

    def _read_attachment(self, attachment: Attachment, name: str, depth: int) -> tuple[str, str]:
        self._count += 1
        if self._count > MAX_ATTACHMENTS:
            raise Unreadable(f"Only the first {MAX_ATTACHMENTS} attachments are read.")
        if attachment.reason:
            raise Unreadable(attachment.reason)
        if attachment.mail is not None:
            if depth >= MAX_DEPTH:
                raise Unreadable("Mails in mails in mails are not read.")
            return "Mail", self.write(attachment.mail(), depth + 1)
        left = self.limits.characters - self._characters
        seconds = self.limits.seconds - (time.process_time() - self._start)
        limits = replace(self.limits, characters=max(left, 0), seconds=max(seconds, 0.0))
        return attachments.read(attachment.content, name, limits, self.pages)


def _about(*facts: str) -> str:
    text = ", ".join(fact for fact in facts if fact)
    return f" ({text})" if text else ""


def _size(length: int) -> str:
    if length < 1_000:
        return f"{length} bytes" if length else ""
    return f"{length / 1e3:,.1f} KB" if length < 1e6 else f"{length / 1e6:,.1f} MB"
