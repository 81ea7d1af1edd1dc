"""Decode images in a reply: data URLs in, image bytes of a verified type out.

The type comes from the first bytes, not from the URL. Only PNG, JPEG, GIF and WebP are accepted:
an SVG can contain scripts, and a remote image would tell its host who reads the reply.
"""

import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_IMAGES = 16  # of one reply
MAX_IMAGES_BYTES = 24 * 1024 * 1024  # of all its images together


@dataclass(frozen=True, slots=True)
class Image:
    media_type: str
    data: bytes = field(repr=False)


def decode_image(url: object) -> Image | None:
    """Decode a data URL; None if it is not an image of a supported type."""
    if not isinstance(url, str):
        return None
    head, _, text = url.partition(",")
    head = head.lower()
    if not head.startswith("data:image/") or not head.endswith(";base64"):
        return None
    try:
        data = binascii.a2b_base64(text, strict_mode=True)  # twice as fast as `base64`
    except (binascii.Error, ValueError):
        return None
    media_type = detect_media_type(data)
    return Image(media_type, data) if media_type else None


def urls_in(images: object) -> Iterator[object]:
    """Yield the URLs in a delta's `images`, each a part such as `{"image_url": {"url": …}}`."""
    for part in images if isinstance(images, list) else [images]:
        url = part.get("image_url", part.get("url")) if isinstance(part, dict) else part
        yield url.get("url") if isinstance(url, dict) else url


def detect_media_type(data: bytes) -> str:
    """Return the type by the signatures of the WHATWG's MIME Sniffing standard (6.1), or ""."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:14] == b"WEBPVP" else ""
