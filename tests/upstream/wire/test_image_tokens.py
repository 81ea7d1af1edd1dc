"""Estimated tokens of images, compared with the examples that providers publish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.wire.requests.content import ImagePart, text_part
from chatapp.upstream.wire.requests.estimates import UPPER, PromptSize, estimate
from chatapp.upstream.wire.requests.history import History
from chatapp.upstream.wire.requests.image_tokens import ImageTokens, image_tokens

SIDES = st.integers(1, 8000)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        # OpenAI 765 and 1,024 (2,520 for gpt-4.1-nano), Anthropic 1,399, Google 1,032
        (1024, 1024, ImageTokens(1024, 2520)),
        # OpenAI 1,105 and 1,536 (3,779), Anthropic 1,600 (4,784), Google 4,644
        (2048, 4096, ImageTokens(1536, 4784)),
        # OpenAI 255 and 49 (121), Anthropic 54, Google 258
        (200, 200, ImageTokens(54, 258)),
    ],
)
def test_the_figures_follow_the_published_rules(
    width: int, height: int, tokens: ImageTokens
) -> None:
    assert image_tokens(width, height) == tokens


@given(SIDES, SIDES)
def test_the_middle_figure_is_never_above_the_upper_one(width: int, height: int) -> None:
    tokens = image_tokens(width, height)
    assert 0 < tokens.middle <= tokens.upper


def test_an_image_counts_as_it_is_scaled_for_the_upstream() -> None:
    assert image_tokens(4000, 2000, 512) == image_tokens(512, 256)


def test_the_images_of_a_prompt_are_estimated_beside_its_text() -> None:
    image = ImagePart("aa/file", "image/png", 1024, 1024, 1000)
    prompts = (
        History.of([{"role": "user", "content": [text_part("Why?"), *images]}])
        for images in ([], [image, image])
    )
    without, with_two = (PromptSize.of(prompt) for prompt in prompts)
    added = estimate(with_two).middle.prompt_tokens - estimate(without).middle.prompt_tokens
    assert added == 2 * 1024
    assert with_two.tokens(1, UPPER) - without.tokens(1, UPPER) == 2 * 2520
    assert with_two.upper_tokens - without.upper_tokens == 2 * 2520
