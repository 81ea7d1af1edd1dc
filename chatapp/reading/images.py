"""Turn a history into what a request sends: images are read, scaled and encoded in threads.

Encoded images are cached, because each turn sends all images of its conversation again. Scaling is
deterministic, so that later turns send the same bytes and the provider's prompt cache applies.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from tempfile import TemporaryFile
from threading import Lock

from chatapp.models.files import storage
from chatapp.upstream.wire.requests.content import EncodedPart, ImagePart, fit_to_side, is_parts
from chatapp.upstream.wire.requests.dialects import ChatMessage
from chatapp.upstream.wire.requests.history import History

MAX_CACHED_BYTES = 64 * 1024 * 1024
FORMATS = {"image/jpeg": "JPEG", "image/png": "PNG"}
JPEG_QUALITY, PNG_LEVEL = 85, 1  # other levels take up to three times as long

# Not asyncio's own threads: with a slow storage, nothing else would get one of those.
_threads = ThreadPoolExecutor(2, "images")
# They only read at the same time: each thread that computes keeps the event loop waiting for up to
# 5 ms, Python's switch interval.
_computing = Lock()

Key = tuple[str, int]  # a file and the side to which it is scaled


class EncodedImages:
    """A cache of encoded images, for one thread; the least recently used go first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: OrderedDict[Key, EncodedPart] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key) -> EncodedPart | None:
        if part := self._parts.get(key):
            self._parts.move_to_end(key)
        return part

    def put(self, key: Key, part: EncodedPart) -> None:
        if key in self._parts or len(part.json) > self._max_bytes:
            return
        self._parts[key] = part
        self._bytes += len(part.json)
        while self._bytes > self._max_bytes:
            _, dropped = self._parts.popitem(last=False)
            self._bytes -= len(dropped.json)


IMAGE_CACHE = EncodedImages(MAX_CACHED_BYTES)


async def with_images(history: History, side: int) -> Sequence[ChatMessage]:
    """Return the messages with their images, scaled to `side` pixels.

    Raises `OSError` if the storage fails, and `FileNotFoundError` if it lacks an image.
    """
    if not history.images:
        return history.messages
    images = list(dict.fromkeys(history.images))
    parts = await asyncio.gather(*(_encode_image(image, side) for image in images))
    by_image = dict(zip(images, parts, strict=True))
    return [_embed_images(message, by_image) for message in history.messages]


async def _encode_image(image: ImagePart, side: int) -> EncodedPart:
    key = image.file, side
    if cached_part := IMAGE_CACHE.get(key):
        return cached_part
    loop = asyncio.get_running_loop()
    part = await loop.run_in_executor(_threads, _read_image, image, side)
    IMAGE_CACHE.put(key, part)
    return part


def _embed_images(message: ChatMessage, encoded: dict[ImagePart, EncodedPart]) -> ChatMessage:
    if not is_parts(content := message.get("content")):
        return message
    parts = [encoded[part] if isinstance(part, ImagePart) else part for part in content]
    return {**message, "content": parts}


def _read_image(image: ImagePart, side: int) -> EncodedPart:
    data = storage.read(image.file)
    with _computing:
        if max(image.width, image.height) > side:
            data = scale_image(data, image.media_type, side)
        return EncodedPart.of(image.media_type, data)


def scale_image(data: bytes, media_type: str, side: int) -> bytes:
    """Scale an image down until its longer side has `side` pixels. Raises `OSError`."""
    from PIL import Image  # needs memory, and few requests need it

    try:
        with Image.open(BytesIO(data), formats=[*FORMATS.values()]) as image:
            size = fit_to_side(*image.size, side)
            image.draft(None, size)
            has_colours = image.mode in ("L", "RGB", "RGBA")  # and not the numbers of a palette
            smaller = (image if has_colours else image.convert("RGBA")).resize(
                size, Image.Resampling.LANCZOS
            )
    except Image.DecompressionBombError as error:
        raise OSError(str(error)) from error
    with TemporaryFile() as file:  # Pillow releases the GIL only while it writes to a file
        smaller.save(file, FORMATS[media_type], quality=JPEG_QUALITY, compress_level=PNG_LEVEL)
        file.seek(0)
        return file.read()
