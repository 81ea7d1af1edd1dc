"""Decodes long base64 in steps between which other threads can run. Pure."""

from binascii import a2b_base64
from collections.abc import Iterator

STEP_BYTES = 256 * 1024


def decode_in_steps(encoded: bytes | memoryview) -> Iterator[bytes]:
    """Yield the decoded bytes. JSON may have escaped each slash. Raises `ValueError`."""
    remainder = b""
    for start in range(0, len(encoded), STEP_BYTES):
        text = (remainder + encoded[start : start + STEP_BYTES]).replace(rb"\/", b"/")
        is_last = start + STEP_BYTES >= len(encoded)
        end = len(text) if is_last else (len(text) - 1) // 4 * 4
        text, remainder = text[:end], text[end:]
        if b"=" in text[-2:] and not is_last:
            raise ValueError("padding within base64")
        yield a2b_base64(text, strict_mode=True)
