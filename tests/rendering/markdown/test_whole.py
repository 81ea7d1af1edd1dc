"""A whole text, at once or in full."""

import pytest

from chatapp.rendering.markdown import budgets, render, render_at_once, render_plain


def test_what_is_cheap_is_rendered_at_once_as_it_would_be_anywhere() -> None:
    text = "A **short** text.\n\n- a\n- [b](http://c.d)\n\n|a|\n|-|\n|b|"
    assert render_at_once(text) == render(text)


@pytest.mark.parametrize("text", ["$x$", "a\\b", "```python\nx\n```", "a" * 5000])
def test_what_may_cost_more_is_not_rendered_at_once(text: str) -> None:
    assert render_at_once(text) is None


def test_a_text_as_it_was_written_stands_below_the_reason() -> None:
    assert render_plain("a *b* <c>\n\n", "Because.") == (
        '<div class="block" dir="auto"><p class="as-written">Because.</p>'
        '<pre class="plain" tabindex="0">a *b* &lt;c&gt;</pre></div>'
    )


def test_it_is_cut_as_anywhere() -> None:
    html = render_plain("a" * (budgets.LONGEST_TEXT + 1), "Because.")
    assert html.count("a" * budgets.LONGEST_TEXT) == 1
    assert html.endswith(f"{budgets.TOO_LONG}</p></div>")
