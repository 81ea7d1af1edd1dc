"""Images: decoded, turned upright, scaled down and encoded again without metadata."""

import io
from typing import BinaryIO

from PIL import AvifImagePlugin as _avif
from PIL import Image, ImageChops, ImageCms
from PIL import MpoImagePlugin as _mpo  # noqa: F401 - photos of phones that hold several
from PIL import TiffImagePlugin as _tiff  # noqa: F401 - reads EXIF, too
from PIL import WebPImagePlugin as _webp  # noqa: F401

from chatapp.documents import refusals
from chatapp.documents.results import LeftOut, Limits, Picture

from . import heif

PNG, JPEG = "PNG", "JPEG"
PHOTOS = (JPEG, "MPO", "HEIF", "AVIF")  # kept as JPEG, without transparency
FORMATS = (PNG, JPEG, "WEBP", "GIF", "BMP", "AVIF", "TIFF")
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
BRIGHTEST = (2**12 - 1, 2**16 - 1)  # of cameras and scanners with more than 8 bits
SRGB, LAB = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
Image.preinit()  # imports the other plugins, which is not possible in the sandbox
Image.MAX_IMAGE_PIXELS = None  # `Limits.pixels` is checked instead, before anything is decoded
_avif.DEFAULT_MAX_THREADS = 1  # that is none but the process's own


def read(file: BinaryIO, limits: Limits) -> Picture:
    return picture(open_image(file.read(), limits), limits)


def open_image(content: bytes, limits: Limits) -> Image.Image:
    """Return the image, not decoded yet if its format allows that. Raises `Unreadable`."""
    try:
        if heif.is_heif(content):
            image = heif.decode(content, limits)
            image.format = "HEIF"
            return image
        # In memory, because the TIFF plugin duplicates a file's descriptor.
        image = Image.open(io.BytesIO(content), formats=FORMATS)
    except (OSError, SyntaxError, ValueError) as error:
        raise refusals.damaged("image") from error
    check_size(image, limits)
    return image


def check_size(image: Image.Image, limits: Limits) -> None:
    if image.width * image.height > limits.pixels:
        raise refusals.too_many_pixels(image.width, image.height, limits.pixels)


def picture(image: Image.Image, limits: Limits) -> Picture:
    """Return the opened image, or its current frame, encoded again. Raises `Unreadable`."""
    try:
        return _picture(image, limits)
    except (OSError, SyntaxError, ValueError) as error:
        raise refusals.damaged("image") from error


def _picture(image: Image.Image, limits: Limits) -> Picture:
    format_ = JPEG if image.format in PHOTOS else PNG
    left_out = _other_frames(image)
    image.draft(None, (limits.image_side, limits.image_side))  # JPEG decodes to a fraction at once
    profile = image.info.get("icc_profile")
    # libheif turns images itself.
    turn = TURNS.get(image.getexif().get(ORIENTATION, 1)) if image.format != "HEIF" else None
    image = _upright_cmyk(image)
    if image.mode in ("CMYK", "LAB"):
        image = _in_srgb(image, profile)
    image = _in_srgb(_scale_down(_plain(image), limits.image_side), profile)
    if turn is not None:
        image = image.transpose(turn)
    return encode_image(image, limits.image_side, format_, left_out)


def encode_image(
    image: Image.Image, side: int, format_: str, left_out: tuple[LeftOut, ...] = ()
) -> Picture:
    """Encode a decoded image; one with transparency as PNG in any case."""
    image = _without_opaque_alpha(_scale_down(_plain(image), side))
    has_alpha = image.mode in ("RGBA", "LA")
    format_ = PNG if has_alpha else format_
    data = _bytes(image, format_)
    if format_ == PNG and len(data) > MAX_PNG_BYTES and not has_alpha:
        format_, data = min(
            [(PNG, data), (JPEG, _bytes(image, JPEG))], key=lambda each: len(each[1])
        )
    small = _scale_down(image, THUMBNAIL_SIDE)
    thumbnail = _bytes(small, PNG if has_alpha else JPEG, THUMBNAIL_QUALITY)
    return Picture(MEDIA_TYPES[format_], image.width, image.height, data, thumbnail, left_out)


def _without_opaque_alpha(image: Image.Image) -> Image.Image:
    """Return the image without an alpha channel that hides nothing, as screenshots have it."""
    if image.mode not in ("RGBA", "LA") or image.getchannel("A").getextrema()[0] != 255:
        return image
    return image.convert(image.mode.removesuffix("A"))


def _other_frames(image: Image.Image) -> tuple[LeftOut, ...]:
    """Count the frames of an animation. The others of an MPO are previews and depths."""
    count = getattr(image, "n_frames", 1) if image.format not in ("MPO", "TIFF") else 1
    return (LeftOut("frame", count - 1),) if count > 1 else ()


def _upright_cmyk(image: Image.Image) -> Image.Image:
    """Undo Pillow's assumption that every CMYK JPEG is inverted, as Adobe's are."""
    if image.mode == "CMYK" and image.format in (JPEG, "MPO") and "adobe" not in image.info:
        return ImageChops.invert(image)
    return image


def _plain(image: Image.Image) -> Image.Image:
    """Return the image in one of the modes L, RGB, LA and RGBA, without metadata."""
    if image.mode.startswith("I;16"):
        image = image.convert("I")
    if image.mode in ("I", "F"):
        image = _in_eight_bits(image)
    if image.mode not in ("L", "RGB", "LA", "RGBA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    elif "transparency" in image.info:
        image = image.convert("RGBA")
    image.info = {}
    return image


def _in_eight_bits(image: Image.Image) -> Image.Image:
    """Return a grey image of more bits in 8 bits, so that it is not black."""
    brightest = image.getextrema()[1]
    assert isinstance(brightest, int | float)
    scale = next((each for each in BRIGHTEST if brightest <= each), brightest) / 255
    return image.point(lambda value: value / scale).convert("L")


def _scale_down(image: Image.Image, side: int) -> Image.Image:
    """Return the image, scaled down if it is wider or higher than `side`."""
    if max(image.size) <= side:
        return image
    scale = side / max(image.size)
    size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Convert colours from the profile of a camera, screen or printer; no profile is kept."""
    if image.mode not in ("RGB", "RGBA", "CMYK", "LAB") or not (profile or image.mode == "LAB"):
        return image
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile) if profile else LAB)
        mode = image.mode if image.mode.startswith("RGB") else "RGB"
        converted = ImageCms.profileToProfile(image, source, SRGB, outputMode=mode)
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
