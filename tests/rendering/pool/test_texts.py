"""Where a text is rendered: in place, by a worker, or not at all if it is cached."""

import pytest

from chatapp.rendering.markdown import PLAIN, as_typed, budgets, render
from chatapp.rendering.pool import Renderer, Typed, texts
from chatapp.rendering.pool.texts import UNDONE
from tests.rendering.pool.processes import CODE, WAIT_SECONDS


def test_a_rendered_text_is_cached(renderer: Renderer) -> None:
    renderer.rendered([CODE])
    renderer.pool.close()
    assert renderer.rendered([CODE])(CODE) == render(CODE)


def test_a_small_text_needs_no_worker(renderer: Renderer) -> None:
    renderer.rendered(["Some *words*.", "- a\n- [b](http://c.d)"])
    assert renderer.pool.pids == []


def test_typed_text_and_markdown_are_cached_separately(
    renderer: Renderer,
) -> None:
    html_of = renderer.rendered([CODE, Typed(CODE), "*a*", Typed("*a*")])
    for text in (CODE, "*a*"):
        assert html_of(text) == render(text)
        assert html_of(Typed(text)) == as_typed(text)
    assert html_of(Typed("*a*")) != html_of("*a*")


def test_typed_code_is_shown_without_colours_if_no_worker_answers(renderer: Renderer) -> None:
    renderer.pool.close()
    assert renderer.rendered([Typed(CODE)])(Typed(CODE)) == as_typed(CODE, PLAIN)


async def test_a_worker_cuts_an_overlong_text_like_the_server(renderer: Renderer) -> None:
    text = "word " * (budgets.MAX_TEXT_LENGTH // 5 + 1)
    html = (await renderer.arendered([text], WAIT_SECONDS))(text)
    assert html.endswith(f"{budgets.TOO_LONG}</p></div>")


def test_an_evicted_text_is_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_CACHED_BYTES", 3000)
    small = Renderer(workers=1)
    small.rendered([CODE])
    for number in range(20):
        small.rendered([f"word {number} " + "a" * 500])
    small.pool.close()
    assert UNDONE in small.rendered([CODE])(CODE)  # no worker is left to render it
