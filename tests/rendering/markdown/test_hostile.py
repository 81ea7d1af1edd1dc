"""Absurd input takes little time and breaks nothing."""

import pytest

from chatapp.rendering.markdown import LiveMarkdown, block_html, budgets, render
from tests.support.counting import less_than_counting

NOTICE = f'<p class="as-written">{budgets.TOO_MUCH_IN_BLOCK}</p>'
SIZE = 50_000  # more than a block may contain
# fmt: off
UNITS = [
    "*", "* ", "*a ", "_a_", "[", "[a](", "![", ">", ">\n", "`", "$", "$a ", "$$a ", "\\(", "\\[",
    "\n", "a", "- a\n", "# a\n\n", "|a", "www.", "http://a", "a@", "<b>", "&", " ",
]
# fmt: on
NESTED = {
    "quotes": "> " * 5000 + "a",
    "lists": "\n".join("  " * i + "- a" for i in range(300)),
    "emphasis": "*a **b " * 300 + "b** a* " * 300,
    "backticks": " ".join("`" * i for i in range(500)),
    "row": "|a" * 5000 + "\n" + "|-" * 5000 + "\n" + "|\n" * 5000,
    "fractions": "$$" + "\\frac{" * 300 + "$$",
    "definitions": "".join(f"[{i}]: http://a.b\n\n[{i}]\n\n" for i in range(1500)),
}


@pytest.mark.parametrize(
    "text",
    [*(unit * (SIZE // len(unit)) for unit in UNITS), *NESTED.values()],
    ids=[*map(repr, UNITS), *NESTED],
)
def test_absurd_text_is_rendered_in_linear_time(text: str) -> None:
    live = LiveMarkdown()
    with less_than_counting(to=150_000_000):  # measured: 25,000,000
        for start in range(0, len(text), 1000):
            live.append(text[start : start + 1000])
            live.changes()
        live.finish()
        while live.is_behind:
            live.changes()
        while live.has_jobs:
            for job in live.jobs():
                live.apply_result(job, block_html(job.block, job.definitions))
        assert live.html() == render(text)


def test_deep_nesting_is_shown_as_plain_text() -> None:
    assert render("> " * 100 + "a").startswith(
        f'<div class="block" dir="auto">{NOTICE}<pre class="plain" tabindex="0">&gt;'
    )


def test_a_very_long_paragraph_is_shown_as_plain_text() -> None:
    assert render("a *b* " * 20_000).startswith(
        f'<div class="block" dir="auto">{NOTICE}<pre class="plain" tabindex="0">a *b*'
    )
