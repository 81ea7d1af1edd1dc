"""How large an image says it is."""

import pytest

from chatapp.image_sizes import size_of
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
def test_its_head_says_how_large_it_is(name: str) -> None:
    media_type, data, size = SAID[name]
    assert size_of(media_type, data) == size


@pytest.mark.parametrize("name", SAID)
def test_a_part_of_it_says_the_same_or_nothing(name: str) -> None:
    media_type, data, size = SAID[name]
    parts = {size_of(media_type, data[:end]) for end in range(len(data))}
    assert parts <= {None, size, (9, 8)}
