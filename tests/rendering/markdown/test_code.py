"""Syntax colours of code, and code without them: no time, no lexer or too much code."""

import pytest

from chatapp.rendering.markdown import LiveMarkdown, render, render_at_once
from tests.support.dom import fragment


def test_code_is_coloured_inside_the_same_elements() -> None:
    assert render("```python title=x\ndef f(): pass\n```") == (
        '<div class="block" dir="auto"><div class="code" data-language="python">'
        '<pre dir="ltr" tabindex="0"><code class="language-python">'
        '<span class="k">def</span> <span class="nf">f</span>(): <span class="k">pass</span>'
        "</code></pre></div></div>"
    )


@pytest.mark.parametrize("language", ["nonsense", "", '"><script>', "python" * 9])
def test_an_unknown_language_stays_plain(language: str) -> None:
    assert fragment(render(f"```{language}\ndef f\n```")).text == "def f"
    assert "<span" not in render(f"```{language}\ndef f\n```")


def test_long_code_stays_plain() -> None:
    assert "<span" not in render("```python\n" + "x = 1\n" * 3000 + "```")
    assert "<span" in render("```python\n" + "x = 1\n" * 300 + "```")


def test_code_is_never_coloured_in_the_event_loop() -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a lexer was called")

    live = LiveMarkdown()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pygments.lexer.RegexLexer.get_tokens_unprocessed", refuse)
        live.append("```python\nx = 1\n```\n\n- ```c\n  x;\n  ```\n\nend")
        live.changes()
        live.finish()
        live.changes()
        assert render_at_once("```python\nx = 1\n```") is None
        assert render_at_once("~~~ c\nx\n~~~") is None
    assert len(live.jobs()) == 2


def test_a_token_without_a_style_takes_the_nearest_colour() -> None:
    assert '<span class="m">1</span>' in render("```python\n1\n```")  # Number.Integer is a Number
