"""Rendering of whole texts."""

import pytest

from chatapp.rendering.markdown import budgets, render, render_at_once, render_plain


def test_a_cheap_text_is_rendered_immediately_and_the_same() -> None:
    text = "A **short** text.\n\n- a\n- [b](http://c.d)\n\n|a|\n|-|\n|b|"
    assert render_at_once(text) == render(text)


@pytest.mark.parametrize("text", ["$x$", "a\\b", "```python\nx\n```", "a" * 5000])
def test_a_text_that_may_be_expensive_is_not_rendered_immediately(text: str) -> None:
    assert render_at_once(text) is None


def test_plain_text_is_shown_below_the_notice() -> None:
    assert render_plain("a *b* <c>\n\n", "Because.") == (
        '<div class="block" dir="auto"><p class="as-written">Because.</p>'
        '<pre class="plain" tabindex="0">a *b* &lt;c&gt;</pre></div>'
    )


def test_plain_text_beyond_the_limit_is_cut() -> None:
    html = render_plain("a" * (budgets.MAX_TEXT_LENGTH + 1), "Because.")
    assert html.count("a" * budgets.MAX_TEXT_LENGTH) == 1
    assert html.endswith(f"{budgets.TOO_LONG}</p></div>")
