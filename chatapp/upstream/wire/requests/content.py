"""The content of a chat message: a text, or a list of parts (texts and images).

A part is `{"type": "text", "text": …}` or an `ImagePart`, which has no bytes: histories are kept in
memory and counted. Before a request is sent, each `ImagePart` is replaced by an `EncodedPart`.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeGuard

_STEP_BYTES = 192 * 1024  # a multiple of 3
PICTURE_LEFT_OUT = "(This picture is left out, because the model takes no images.)"
SEPARATOR = "\n\n"  # between the texts of parts that are sent as one text


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in the storage of files."""

    file: str  # its name in the storage
    media_type: str
    width: int  # pixels
    height: int
    size: int  # bytes
    # What models that take no images read in its place. Without that, they can't be asked.
    stand_in: str = ""


class EncodedPart:
    """An image part as JSON. Requests share its bytes, see `json_pieces`."""

    __slots__ = ("json",)

    def __init__(self, json: bytes) -> None:
        self.json = json

    @classmethod
    def of(cls, media_type: str, data: bytes) -> Self:
        """Encode an image, in steps between which other threads can run."""
        steps = range(0, len(data), _STEP_BYTES)
        encoded = (base64.b64encode(data[start : start + _STEP_BYTES]) for start in steps)
        head = b'{"type":"image_url","image_url":{"url":"data:%b;base64,' % media_type.encode()
        return cls(b"".join([head, *encoded, b'"}}']))


Part = Mapping[str, object] | ImagePart | EncodedPart


def text_part(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def is_parts(content: object) -> TypeGuard[Sequence[Part]]:
    return isinstance(content, list | tuple)


def has_content(content: object) -> bool:
    """Tell whether a content has an image or a text that is more than white space."""
    if isinstance(content, str):
        return bool(content) and not content.isspace()
    if is_parts(content):
        return any(isinstance(part, ImagePart) or has_content(_get_text(part)) for part in content)
    return bool(content)


def join_contents(contents: Sequence[object]) -> object:
    """Join the contents of messages: as one text if all are texts, otherwise as a list of parts."""
    if not any(map(is_parts, contents)):
        return SEPARATOR.join(map(str, contents))
    return [part for content in contents for part in _split_parts(content)]


def images_in(messages: Iterable[Mapping[str, Any]]) -> tuple[ImagePart, ...]:
    contents = [message.get("content") for message in messages]
    lists = [content for content in contents if type(content) is not str and is_parts(content)]
    return tuple(part for parts in lists for part in parts if isinstance(part, ImagePart))


def has_parts(messages: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether any content is a list of parts."""
    return any(is_parts(message.get("content")) for message in messages)


def join_texts(messages: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages with each list of parts as one text, for upstreams that take only texts.

    Images are left out.
    """
    return [_with_one_text(message) for message in messages]


def without_optional_images(messages: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages with a text in place of each image that has one."""
    return [_with_stand_ins(message) for message in messages]


def _with_stand_ins(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if not is_parts(content := message.get("content")):
        return message
    parts = [
        text_part(part.stand_in) if isinstance(part, ImagePart) and part.stand_in else part
        for part in content
    ]
    return {**message, "content": parts}


def fit_to_side(width: int, height: int, side: int) -> tuple[int, int]:
    """Return the size of an image once its longer side is at most `side` pixels."""
    longer = max(width, height)
    if longer <= side:
        return width, height
    return max(1, round(width * side / longer)), max(1, round(height * side / longer))


def _with_one_text(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if not is_parts(content := message.get("content")):
        return message
    return {**message, "content": SEPARATOR.join(filter(has_content, map(_get_text, content)))}


def _split_parts(content: object) -> Iterator[Part]:
    if is_parts(content):
        yield from content
    else:
        yield text_part(str(content))


def _get_text(part: Part) -> str:
    return str(part.get("text") or "") if isinstance(part, Mapping) else ""
