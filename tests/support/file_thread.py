"""A conversation stored at once whose prompts have files."""

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from tests.support import pictures
from tests.support.live import Person, Server

STORE = """
import base64, json
from uuid import uuid4
from chatapp.models import *
from chatapp.models.files.attachments import attach
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.events import AnswerDelta

user = User.objects.get(username={username!r})
conversation = Conversation(user=user, title="With files")
upstream = Upstream.objects.first()

def stored(file, position):
    stored = StoredFile.store(base64.b64decode(file["data"]), user.pk)
    described = {{key: file[key] for key in ("kind", "label", "width", "height", "unit")}}
    ends = [sum(map(len, file["pages"][: number + 1])) for number in range(len(file["pages"]))]
    content, is_new = FileContent.objects.get_or_create(file=stored, defaults={{
        **described, "media_type": "image/png" if file["kind"] == "image" else "text/plain",
        "text": "".join(file["pages"]), "page_ends": ends,
        "thumbnail": stored if file["kind"] == "image" else None,
    }})
    for page, data in enumerate(file["scanned"]):
        image = StoredFile.store(base64.b64decode(data), user.pk)
        sized = {{"file": image, "width": 300, "height": 424}}
        PageImage.objects.get_or_create(content=content, position=page, defaults=sized)
    return Attachment.objects.create(
        user=user, name=file["name"], size=file["size"] or stored.size, file=stored, state="ready"
    )

last = None
for text, files in json.loads({turns!r}):
    attached = [stored(file, number) for number, file in enumerate(files)]
    prompt, last = conversation.ask(
        uuid4(), text, last and last.pk, upstream, "google/gemini-3-flash", uuid4(),
        file_count=len(attached),
    )
    attach(attached, prompt.pk)
    reply = Reply()
    reply.apply(AnswerDelta("I see."))
    last.copy_progress(reply)
    last.finish(reply, Ending.COMPLETE)
    last.save_reply(Usage(provenance="reported", prompt_tokens=9, total_tokens=18))
print(conversation.pk)
"""


@dataclass(frozen=True)
class File:
    """A file as it is stored."""

    name: str
    data: str  # Base64
    kind: str = "image"
    label: str = "PNG"
    width: int = 0
    height: int = 0
    pages: Sequence[str] = ()
    unit: str = ""
    scanned: Sequence[str] = field(default_factory=tuple)  # Base64
    size: int = 0  # bytes, if not those of the data


def image(name: str, width: int, height: int, colour: bytes = b"\x80\x20\xa0") -> File:
    return File(name, _base64(pictures.png(width, height, colour)), width=width, height=height)


def document(name: str, *pages: str, unit: str = "Page", label: str = "PDF", size: int = 0) -> File:
    data = _base64(f"{name}{pages}".encode())
    return File(name, data, "document", label, pages=pages, unit=unit, size=size)


def scan(name: str, count: int) -> File:
    """Return a scan whose pages are of one colour each."""
    colours = [bytes([250 - 20 * number, 240, 220]) for number in range(count)]
    scanned = [_base64(pictures.png(300, 424, colour)) for colour in colours]
    data = _base64(name.encode())
    return File(name, data, "scan", "PDF", pages=[""] * count, unit="Page", scanned=scanned)


def store_file_thread(server: Server, person: Person, *turns: tuple[str, Sequence[File]]) -> str:
    """Store a conversation of these prompts and their files; return its path."""
    described = json.dumps([(text, [asdict(file) for file in files]) for text, files in turns])
    made = server.run(STORE.format(username=person.username, turns=described))
    return f"/c/{made.strip()}/"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
