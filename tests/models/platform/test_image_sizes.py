"""The size of an image from its header."""

import pytest

from chatapp.models.platform.image_sizes import read_size
from tests.support.pictures import SVG, WEBP, claimed_png, jpeg, png, webp

SAID = {
    "a PNG": ("image/png", png(3, 2), (3, 2)),
    "a bomb": ("image/png", claimed_png(60_000, 50_000), (60_000, 50_000)),
    "a JPEG": ("image/jpeg", jpeg(300, 200), (300, 200)),
    "a WebP": ("image/webp", WEBP, (1, 1)),
    "a WebP with a canvas": ("image/webp", webp(9, 8, (9, 8)), (9, 8)),
    "a WebP with a small canvas": ("image/webp", webp(9, 8, (16_000, 7)), (16_000, 8)),
    "a PNG without a width": ("image/png", claimed_png(0, 5), None),
    "a GIF": ("image/gif", b"GIF89a\1\0\1\0", None),
    "an SVG": ("", SVG, None),
}


@pytest.mark.parametrize("name", SAID)
def test_the_size_is_read_from_the_header(name: str) -> None:
    media_type, data, size = SAID[name]
    assert read_size(media_type, data) == size


@pytest.mark.parametrize("name", SAID)
def test_a_truncated_image_gives_the_same_size_or_none(name: str) -> None:
    media_type, data, size = SAID[name]
    parts = {read_size(media_type, data[:end]) for end in range(len(data))}
    assert parts <= {None, size, (9, 8)}
