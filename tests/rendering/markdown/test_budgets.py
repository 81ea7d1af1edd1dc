"""The output of a text is bounded, and cut at the same place live and as a whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml import Element

from bench.bombs import TEXTS
from chatapp.rendering.markdown import Block, LiveMarkdown, block_html, budgets, render
from chatapp.rendering.markdown.block_html import PLAIN, block_at_once
from tests.support.profile import choose_size

from .page import make, region
from .texts import PIECES

NAMES = list(TEXTS)[:: choose_size(4, 1)]


def build_page(pieces: list[str]) -> tuple[Element, LiveMarkdown]:
    """Return the page of a viewer who saw the text arrive in these pieces, and the live text."""
    live, page = LiveMarkdown(), region()
    for piece in [*pieces, None]:
        live.append(piece) if piece is not None else live.finish()
        make(live.changes(), page)
    while live.is_behind:
        make(live.changes(), page)
    while live.has_jobs:
        for job in live.jobs():
            make(live.apply_result(job, block_html(job.block, job.definitions)), page)
    return page, live


TIGHT = {
    "MAX_TEXT_LENGTH": 90,
    "MAX_WEIGHT": 1500,
    "MAX_BLOCK_LENGTH": 40,
    "MAX_CELLS": 6,
    "DEEPEST": 3,
    "MAX_DEFINED": 30,
    "HEAVIEST_AT_ONCE": 350,
    "FORMULAS_AT_ONCE": 1,
}


@settings(max_examples=choose_size(40, 300))
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.integers(1, 9))
def test_random_markup_beyond_any_limit_ends_like_the_whole_text(
    pieces: list[str], size: int
) -> None:
    text = "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in TIGHT.items():
            patch.setattr(budgets, name, value)
        page, live = build_page([text[i : i + size] for i in range(0, len(text), size)])
        assert live.html() == render(text)
        assert page.inner_html == live.html()


@pytest.mark.parametrize("name", NAMES)
def test_a_streamed_bomb_ends_like_the_whole_text_and_stays_bounded(name: str) -> None:
    text = TEXTS[name](0.02)
    page, live = build_page([text[i : i + 1000] for i in range(0, len(text), 1000)])
    assert live.html() == render(text)
    assert page.inner_html == live.html()
    assert len(live.html()) < 40 * len(text) + 100_000


@pytest.mark.parametrize("name", NAMES)
def test_no_bomb_gives_more_html_than_a_browser_can_show(name: str) -> None:
    assert len(render(TEXTS[name](1), PLAIN)) < 2 * budgets.MAX_WEIGHT


def rendering_work(text: str, piece: int = 1000) -> list[int]:
    """Return the work of each call of `changes`: characters of its blocks, plus 200 per block."""
    live = LiveMarkdown()
    calls: list[int] = []
    with pytest.MonkeyPatch.context() as patch:

        def count_work(block: Block, definitions: str) -> tuple[str, bool]:
            calls[-1] += 200 + (block.size if block.is_formatted else 0) + len(definitions)
            return block_at_once(block, definitions)

        patch.setattr("chatapp.rendering.markdown.live.block_at_once", count_work)
        for start in range(0, len(text), piece):
            live.append(text[start : start + piece])
            calls.append(0)
            live.changes()
        live.finish()
        while live.is_behind:
            calls.append(0)
            live.changes()
    return calls


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("piece", [1000, 1_000_000])
def test_no_call_does_more_work_than_fits_into_a_turn(name: str, piece: int) -> None:
    limit = budgets.WORK_A_TURN + budgets.HEAVIEST_AT_ONCE + budgets.MAX_DEFINED_IN_BLOCK
    assert max(rendering_work(TEXTS[name](0.1), piece)) < limit


@pytest.mark.parametrize("name", NAMES)
def test_work_grows_linearly_with_the_text(name: str) -> None:
    small, large = (sum(rendering_work(TEXTS[name](scale))) for scale in (0.01, 0.1))
    assert large <= 15 * small + 100_000


# Text beyond a limit


def test_a_table_with_too_many_padded_cells_is_shown_as_plain_text() -> None:
    html = render("|a" * 200 + "\n" + "|-" * 200 + "\n" + "|\n" * 100)
    assert budgets.TOO_MUCH_IN_BLOCK in html
    assert "<td>" not in html


def test_a_long_table_is_still_a_table() -> None:
    assert render("|a|b|c|\n|-|-|-|\n" + "|1|2|3|\n" * 500).count("<td>") == 1500


def test_the_rest_of_a_text_with_too_many_blocks_is_one_block() -> None:
    html = render("a\n\n" * 50_000 + "# The end")
    assert html.count("<p>a</p>") == pytest.approx(budgets.MAX_WEIGHT / 240, rel=0.1)
    assert html.count('<div class="block" dir="auto">') == html.count("<p>a</p>") + 1
    assert html.count(budgets.TOO_MUCH_IN_TEXT) == 1
    assert "# The end</pre>" in html


def test_a_text_beyond_the_limit_ends_with_a_notice() -> None:
    html = render("word " * 300_000)
    assert html.endswith(f'<p class="as-written">{budgets.TOO_LONG}</p></div>')
    assert html.count("word") == budgets.MAX_TEXT_LENGTH // 5


def test_an_ordinary_long_answer_is_not_cut() -> None:
    text = "## A heading\n\nSome **bold** words, $x^2$ and `code`, in a paragraph.\n\n- a\n- b\n\n"
    assert "as-written" not in render(text * 1500, PLAIN)


def test_only_the_first_formulas_are_rendered_immediately() -> None:
    live = LiveMarkdown()
    many = " ".join(f"$x_{{{number}}}$" for number in range(40))
    live.append(f"so $a^2$ is\n\n{many}\n\n")
    live.changes()
    assert live.html().count("<math") == 1 + budgets.FORMULAS_AT_ONCE
    [job] = live.jobs()
    assert job.index == 1
    live.apply_result(job, block_html(job.block, job.definitions))
    assert live.html().count("<math") == 41
