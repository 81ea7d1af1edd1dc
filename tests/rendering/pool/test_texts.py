"""The choice of where a text is rendered: in place, by a worker, or nowhere if it is cached."""

import pytest

from chatapp.rendering.markdown import PLAIN, budgets, render, render_typed
from chatapp.rendering.pool import Renderer, Typed, texts
from chatapp.rendering.pool.texts import RENDER_SKIPPED
from tests.rendering.pool.processes import CODE, WAIT_SECONDS


def test_a_rendered_text_is_cached(renderer: Renderer) -> None:
    renderer.render_texts([CODE])
    renderer.pool.close()
    assert renderer.render_texts([CODE])(CODE) == render(CODE)


def test_a_small_text_needs_no_worker(renderer: Renderer) -> None:
    renderer.render_texts(["Some *words*.", "- a\n- [b](http://c.d)"])
    assert renderer.pool.pids == []


def test_typed_text_and_markdown_are_cached_separately(
    renderer: Renderer,
) -> None:
    html_of = renderer.render_texts([CODE, Typed(CODE), "*a*", Typed("*a*")])
    for text in (CODE, "*a*"):
        assert html_of(text) == render(text)
        assert html_of(Typed(text)) == render_typed(text)
    assert html_of(Typed("*a*")) != html_of("*a*")


def test_typed_code_is_shown_without_colours_if_no_worker_answers(renderer: Renderer) -> None:
    renderer.pool.close()
    assert renderer.render_texts([Typed(CODE)])(Typed(CODE)) == render_typed(CODE, PLAIN)


async def test_a_worker_cuts_an_overlong_text_like_the_server(renderer: Renderer) -> None:
    text = "word " * (budgets.MAX_TEXT_LENGTH // 5 + 1)
    html = (await renderer.arender_texts([text], WAIT_SECONDS))(text)
    assert html.endswith(f"{budgets.TOO_LONG}</p></div>")


def test_an_evicted_text_is_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_CACHED_BYTES", 3000)
    small = Renderer(workers=1)
    small.render_texts([CODE])
    for number in range(20):
        small.render_texts([f"word {number} " + "a" * 500])
    small.pool.close()
    assert RENDER_SKIPPED in small.render_texts([CODE])(CODE)  # no worker is left to render it
