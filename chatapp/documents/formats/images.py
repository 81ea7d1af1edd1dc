"""Images: decoded, turned upright, scaled down and encoded again without metadata."""

import io
from typing import BinaryIO

from PIL import Image, ImageCms
from PIL import MpoImagePlugin as _mpo  # noqa: F401 - photos of phones that hold several
from PIL import TiffImagePlugin as _tiff  # noqa: F401 - reads EXIF
from PIL import WebPImagePlugin as _webp  # noqa: F401

from chatapp.documents import refusals
from chatapp.documents.results import Limits, Picture

PNG, JPEG = "PNG", "JPEG"
FORMATS = (PNG, JPEG, "WEBP", "GIF")
MEDIA_TYPES = {PNG: "image/png", JPEG: "image/jpeg"}
QUALITY = 88
MAX_PNG_BYTES = 1_500_000  # a larger one without transparency becomes a JPEG if that is smaller
THUMBNAIL_SIDE = 512
THUMBNAIL_QUALITY = 80
ORIENTATION = 0x0112  # the EXIF tag, and how to turn an image upright
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SRGB = ImageCms.createProfile("sRGB")
Image.preinit()  # imports the other plugins, which is not possible in the sandbox
Image.MAX_IMAGE_PIXELS = None  # `Limits.pixels` is checked instead, before anything is decoded


def read(file: BinaryIO, limits: Limits) -> Picture:
    try:
        image = Image.open(file, formats=FORMATS)
    except (OSError, SyntaxError, ValueError) as error:
        raise refusals.damaged("image") from error
    if image.width * image.height > limits.pixels:
        raise refusals.too_many_pixels(image.width, image.height, limits.pixels)
    try:
        return _read(image, limits)
    except (OSError, SyntaxError, ValueError) as error:
        raise refusals.damaged("image") from error


def _read(image: Image.Image, limits: Limits) -> Picture:
    format_ = JPEG if image.format in (JPEG, "MPO") else PNG
    image.draft(None, (limits.image_side, limits.image_side))  # JPEG decodes to a fraction at once
    profile = image.info.get("icc_profile")
    turn = TURNS.get(image.getexif().get(ORIENTATION, 1))
    image = _in_srgb(_scaled(_plain(image), limits.image_side), profile)
    return encoded(image.transpose(turn) if turn is not None else image, limits.image_side, format_)


def encoded(image: Image.Image, side: int, format_: str) -> Picture:
    """Encode a decoded image; one with transparency as PNG in any case."""
    image = _scaled(_plain(image), side)
    has_alpha = image.mode in ("RGBA", "LA")
    format_ = PNG if has_alpha else format_
    data = _bytes(image, format_)
    if format_ == PNG and len(data) > MAX_PNG_BYTES and not has_alpha:
        format_, data = min(
            [(PNG, data), (JPEG, _bytes(image, JPEG))], key=lambda each: len(each[1])
        )
    small = _scaled(image, THUMBNAIL_SIDE)
    thumbnail = _bytes(small, PNG if has_alpha else JPEG, THUMBNAIL_QUALITY)
    return Picture(MEDIA_TYPES[format_], image.width, image.height, data, thumbnail)


def _plain(image: Image.Image) -> Image.Image:
    """Return the image in one of the modes L, RGB, LA and RGBA, without metadata."""
    if image.mode.startswith("I;16"):
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    if image.mode == "I":
        image = image.point(lambda value: value / 256).convert("L")
    if image.mode not in ("L", "RGB", "LA", "RGBA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    elif "transparency" in image.info:
        image = image.convert("RGBA")
    image.info = {}
    return image


def _scaled(image: Image.Image, side: int) -> Image.Image:
    """Return the image, scaled down if it is wider or higher than `side`."""
    if max(image.size) <= side:
        return image
    scale = side / max(image.size)
    size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Convert colours from the profile of a camera or screen, because no profile is kept."""
    if not profile or image.mode not in ("RGB", "RGBA"):
        return image
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(image, source, SRGB, outputMode=image.mode)
    except (ImageCms.PyCMSError, OSError, ValueError):  # broken, or of another colour space
        return image
    return converted if converted is not None else image


def _bytes(image: Image.Image, format_: str, quality: int = QUALITY) -> bytes:
    file = io.BytesIO()
    if format_ == JPEG:
        image.save(file, JPEG, quality=quality, progressive=False)
    else:
        image.save(file, PNG, compress_level=6)
    return file.getvalue()
