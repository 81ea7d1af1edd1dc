"""Tell which files came with a question: text parts before it (documents), and images."""

import base64
import re
from collections.abc import Sequence
from io import BytesIO

from chatapp.demo.errors import ApiError
from chatapp.demo.requests import Message

NAME = re.compile(r"""(?:file)?name[=:]\s*["“]?([^"”\n>]{1,100})""", re.IGNORECASE)
MAX_NAME_LENGTH = 80  # characters
HEAD_BYTES = 96 * 1024  # of an image, which hold its size

CLOSING = (
    "I can't read files, but a language model would have been sent all of this, as you see it."
)


def check_images(messages: Sequence[Message], model: str) -> None:
    """Raise `ApiError` 400 if there are images, in the words of a model that takes none."""
    if any(message.images for message in messages):
        raise ApiError(400, f"The model '{model}' does not support image input.")


def answer_about_files(message: Message) -> str | None:
    """Return what came with a question, or None if it came alone."""
    files = [
        *(_document(text) for text in message.documents),
        *(_image(url) for url in message.images),
    ]
    if not files:
        return None
    count = "a file" if len(files) == 1 else f"{len(files)} files"
    lines = "\n".join(f"- {file}" for file in files)
    return f"I received {count} with your question:\n\n{lines}\n\n{CLOSING}"


def _document(text: str) -> str:
    beginning = text.strip().partition("\n")[0]
    named = NAME.search(beginning)
    name = (named[1] if named else beginning)[:MAX_NAME_LENGTH].strip().replace("`", "'")
    return f"a document, `{name}`, with {len(text):,} characters"


def _image(url: str) -> str:
    from PIL import Image  # needs memory, and few questions come with images

    head, _, encoded = url.partition(",")
    if not head.startswith("data:"):
        return "an image at another address"
    data = base64.b64decode(encoded[: HEAD_BYTES // 3 * 4])
    size = f"{len(encoded) * 3 // 4 / 1024:,.0f} KB"
    try:
        with Image.open(BytesIO(data)) as image:
            return f"an image ({image.format}), {image.width} × {image.height} pixels, {size}"
    except OSError:
        return f"an image that I can't recognise, {size}"
