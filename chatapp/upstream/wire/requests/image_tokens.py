"""Estimate the tokens of images from their size by the published rules of the large providers.

* OpenAI, tiles (gpt-4o, gpt-4.1, o1, o3): the image is scaled to fit into 2048 x 2048 pixels, then
  until its shorter side is at most 768; 85 tokens, and 170 for each tile of 512 x 512.
* OpenAI, patches (gpt-4.1-mini and -nano, o4-mini, gpt-5-mini and -nano): a token for each patch
  of 32 x 32, at most 1536 for an image, multiplied by up to 2.46 (gpt-4.1-nano). Both rules:
  https://platform.openai.com/docs/guides/images-vision#calculating-costs
* Anthropic: width x height / 750, after scaling to at most about 1,600 tokens; newer models scale
  to at most 4,784. https://platform.claude.com/docs/en/build-with-claude/vision
* Google: 258 tokens if both sides are at most 384 pixels, otherwise 258 for each tile of 768 x 768.
  https://ai.google.dev/gemini-api/docs/tokens

The model's own rule is not known here. The middle figure is the median of these rules, the upper
one their maximum. Unlike for text, it is no strict bound: gpt-4o-mini counts 33 times as many
tokens as gpt-4o, at a 33rd of the price.
"""

from math import ceil
from statistics import median_low
from typing import NamedTuple

from chatapp.upstream.wire.requests.content import fit_to_side


class ImageTokens(NamedTuple):
    """Tokens of one or more images: the likely number, and the highest by any rule."""

    middle: int
    upper: int


def image_tokens(width: int, height: int, side: int | None = None) -> ImageTokens:
    """Estimate the tokens of one image, which is scaled to `side` pixels before it is sent."""
    if side:
        width, height = fit_to_side(width, height, side)
    patches = _patches(width, height)
    by_area = ceil(width * height / 750)
    rules = [_tiles(width, height), patches, min(by_area, 1600), _google_tiles(width, height)]
    return ImageTokens(median_low(rules), max(*rules, ceil(patches * 2.46), min(by_area, 4784)))


def _tiles(width: int, height: int) -> int:
    width, height = fit_to_side(width, height, 2048)
    shorter = min(width, height)
    if shorter > 768:
        width, height = round(width * 768 / shorter), round(height * 768 / shorter)
    return 85 + 170 * ceil(width / 512) * ceil(height / 512)


def _patches(width: int, height: int) -> int:
    return min(ceil(width / 32) * ceil(height / 32), 1536)


def _google_tiles(width: int, height: int) -> int:
    if max(width, height) <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)
