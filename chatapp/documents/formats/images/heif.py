"""Decodes HEIC and HEIF, the photos of phones, with libheif and without a thread.

`pi_heif` brings libheif, but has no way to say that the decoder must not start threads, which the
sandbox refuses. So libheif's public functions are called directly; its header `heif_decoding.h`
documents them.
"""

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint8, c_void_p

import _pi_heif
from PIL import Image

from chatapp.documents import refusals
from chatapp.documents.formats.detection import AVIF_BRANDS, HEIF_BRANDS
from chatapp.documents.results import Limits

MAX_BRANDS_BYTES = 256
COLOURS_RGB, LAYOUT_RGB, LAYOUT_RGBA, CHANNEL_INTERLEAVED = 1, 10, 11, 10
DECODING_OPTIONS_VERSION = 8  # the first with the number of threads
NO_THREADS = -1  # 0 is the decoder's default, a thread of its own


class _Error(ctypes.Structure):
    _fields_ = (("code", c_int), ("subcode", c_int), ("message", c_char_p))


class _DecodingOptions(ctypes.Structure):
    """`heif_decoding_options`, up to what is set here."""

    _fields_ = (
        ("version", c_uint8),
        ("ignore_transformations", c_uint8),
        ("callbacks", c_void_p * 4),
        ("convert_hdr_to_8bit", c_uint8),
        ("strict_decoding", c_uint8),
        ("decoder_id", c_char_p),
        ("color_conversion_options", c_int * 4),
        ("cancel_decoding", c_void_p),
        ("color_conversion_options_ext", c_void_p),
        ("ignore_sequence_editlist", c_int),
        ("output_image_nclx_profile", c_void_p),
        ("num_library_threads", c_int),
        ("num_codec_threads", c_int),
    )


# The symbols of the libraries that the extension was linked with are found through it.
_library = ctypes.CDLL(_pi_heif.__file__)
for _name, _result, _arguments in (
    ("heif_context_alloc", c_void_p, ()),
    ("heif_context_free", None, (c_void_p,)),
    ("heif_context_set_max_decoding_threads", None, (c_void_p, c_int)),
    (
        "heif_context_read_from_memory_without_copy",
        _Error,
        (c_void_p, c_char_p, c_size_t, c_void_p),
    ),
    ("heif_context_get_primary_image_handle", _Error, (c_void_p, POINTER(c_void_p))),
    ("heif_image_handle_release", None, (c_void_p,)),
    ("heif_image_handle_get_width", c_int, (c_void_p,)),
    ("heif_image_handle_get_height", c_int, (c_void_p,)),
    ("heif_image_handle_has_alpha_channel", c_int, (c_void_p,)),
    ("heif_image_handle_get_raw_color_profile_size", c_size_t, (c_void_p,)),
    ("heif_image_handle_get_raw_color_profile", _Error, (c_void_p, c_char_p)),
    ("heif_decoding_options_alloc", POINTER(_DecodingOptions), ()),
    ("heif_decoding_options_free", None, (POINTER(_DecodingOptions),)),
    (
        "heif_decode_image",
        _Error,
        (c_void_p, POINTER(c_void_p), c_int, c_int, POINTER(_DecodingOptions)),
    ),
    ("heif_image_release", None, (c_void_p,)),
    ("heif_image_get_width", c_int, (c_void_p, c_int)),
    ("heif_image_get_height", c_int, (c_void_p, c_int)),
    ("heif_image_get_plane_readonly", c_void_p, (c_void_p, c_int, POINTER(c_int))),
):
    _function = getattr(_library, _name)
    _function.restype, _function.argtypes = _result, _arguments


def is_heif(head: bytes) -> bool:
    """Return whether a file is HEIF, and not AVIF in it, which Pillow decodes."""
    brands = head[8 : min(int.from_bytes(head[:4], "big"), MAX_BRANDS_BYTES)]
    is_avif = any(brand in brands for brand in AVIF_BRANDS)
    return head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS and not is_avif


def decode(content: bytes, limits: Limits) -> Image.Image:
    """Return the main image of a file, turned upright. Raises `Unreadable` and `OSError`."""
    with ExitStack() as stack:
        handle = stack.enter_context(_main_image(content))
        width = _library.heif_image_handle_get_width(handle)
        height = _library.heif_image_handle_get_height(handle)
        if width * height > limits.pixels:
            raise refusals.too_many_pixels(width, height, limits.pixels)
        image = _decode(handle, bool(_library.heif_image_handle_has_alpha_channel(handle)))
        if profile := _colour_profile(handle):
            image.info["icc_profile"] = profile
        return image


@contextmanager
def _main_image(content: bytes) -> Iterator[c_void_p]:
    context, handle = _library.heif_context_alloc(), c_void_p()
    try:
        _library.heif_context_set_max_decoding_threads(context, 0)
        _check(
            _library.heif_context_read_from_memory_without_copy(
                context, content, len(content), None
            )
        )
        _check(_library.heif_context_get_primary_image_handle(context, byref(handle)))
        yield handle
    finally:
        _library.heif_image_handle_release(handle)
        _library.heif_context_free(context)


def _decode(handle: c_void_p, has_alpha: bool) -> Image.Image:
    image, layout = c_void_p(), LAYOUT_RGBA if has_alpha else LAYOUT_RGB
    with _decoding_options() as options:
        _check(_library.heif_decode_image(handle, byref(image), COLOURS_RGB, layout, options))
    try:
        width = _library.heif_image_get_width(image, CHANNEL_INTERLEAVED)
        height = _library.heif_image_get_height(image, CHANNEL_INTERLEAVED)
        stride = c_int()
        plane = _library.heif_image_get_plane_readonly(image, CHANNEL_INTERLEAVED, byref(stride))
        pixels = ctypes.string_at(plane, stride.value * height)
    finally:
        _library.heif_image_release(image)
    mode = "RGBA" if has_alpha else "RGB"
    return Image.frombuffer(mode, (width, height), pixels, "raw", mode, stride.value, 1)


@contextmanager
def _decoding_options() -> "Iterator[ctypes._Pointer[_DecodingOptions]]":
    options = _library.heif_decoding_options_alloc()
    try:
        if options.contents.version < DECODING_OPTIONS_VERSION:
            raise OSError("libheif is too old to decode without threads")
        options.contents.convert_hdr_to_8bit = 1
        options.contents.num_codec_threads = NO_THREADS
        yield options
    finally:
        _library.heif_decoding_options_free(options)


def _colour_profile(handle: c_void_p) -> bytes:
    size = _library.heif_image_handle_get_raw_color_profile_size(handle)
    if not size:
        return b""
    profile = ctypes.create_string_buffer(size)
    error = _library.heif_image_handle_get_raw_color_profile(handle, profile)
    return profile.raw if not error.code else b""


def _check(error: _Error) -> None:
    if error.code:
        raise OSError(f"libheif error {error.code}.{error.subcode}")
