"""Reads strings from PDFium, which first tells their length and then fills a buffer."""

import encodings.utf_16_le  # noqa: F401 - of PDFium's strings; nothing is imported in the sandbox
from collections.abc import Callable
from ctypes import POINTER, cast, create_string_buffer

import pypdfium2.raw as pdfium

MAX_BYTES = 2**24


def read_string(function: Callable[..., int], *arguments: object) -> str:
    """Return a string of PDFium's UTF-16, without NULs. It is empty if there is none."""
    size = min(function(*arguments, None, 0), MAX_BYTES)
    if size <= 2:  # only the NUL at its end
        return ""
    buffer = create_string_buffer(size)
    function(*arguments, cast(buffer, POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[:size].decode("utf-16-le", "replace").replace("\0", "")


def read_ascii(function: Callable[..., int], *arguments: object) -> str:
    size = min(function(*arguments, None, 0), MAX_BYTES)
    if size <= 1:
        return ""
    buffer = create_string_buffer(size)
    function(*arguments, buffer, size)
    return buffer.value.decode("utf-8", "replace")
