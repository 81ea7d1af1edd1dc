"""Content that a person keeps, in Firefox and WebKit: several replies, versions, a list of
chats."""

import pytest

from tests.engines.engine import ENTER, Engine
from tests.engines.person import ask, ending, shows, sign_in
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role, usage
from tests.support.live import Server, Site

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

ARROW_UP = "\ue013"
ENDINGS = "[...document.querySelectorAll('.beside-reply article')].map((one) => one.dataset.ending)"
ROWS = "#conversations .conversation-title"
TITLES = f"[...document.querySelectorAll('{ROWS}')].map((one) => one.textContent)"


@pytest.fixture
def upstream(upstream: FakeUpstream) -> FakeUpstream:
    upstream.fail_models(200, {"data": [{"id": name} for name in ("alpha", "beta")]})
    return upstream


def test_replies_versions_and_chats_are_kept(
    engine: Engine, site: Site, server: Server, upstream: FakeUpstream
) -> None:
    sign_in(engine, server, site.person().username)
    ask_two_at_once(engine, upstream)
    go_on_with_the_second(engine, upstream)
    change_what_was_asked(engine, upstream)
    rename(engine)
    delete_and_bring_back(engine)
    search(engine)
    assert engine.errors == []


def answer(upstream: FakeUpstream, text: str) -> None:
    upstream.script(role(), delta(text), finish(), usage(), done())


def choose(engine: Engine, text: str) -> None:
    """Choose a model by name in the open list."""
    engine.until("document.querySelector('#model-sheet').matches(':popover-open')")
    engine.type(text + ENTER)


def ask_two_at_once(engine: Engine, upstream: FakeUpstream) -> None:
    for _ in range(2):
        answer(upstream, "So it is.")
    engine.click("#model")
    engine.until("document.querySelectorAll('#model-sheet .model-row').length === 2")
    engine.click("#model-sheet .model-several")
    choose(engine, "beta")
    engine.until("document.querySelectorAll('#others li').length === 1")
    engine.click("#model-sheet .model-done")
    ask(engine, "Why?")
    engine.until(f"String({ENDINGS}) === 'complete,complete'")


def go_on_with_the_second(engine: Engine, upstream: FakeUpstream) -> None:
    engine.click(".beside-reply:last-child .beside-choose")
    engine.until("document.querySelectorAll('.beside-reply').length === 0")
    answer(upstream, "And so.")
    ask(engine, "And then?")
    engine.until(ending("complete"))
    engine.until(shows("And so."))


def change_what_was_asked(engine: Engine, upstream: FakeUpstream) -> None:
    """Edit the prompt with ArrowUp, and then go back to the previous version."""
    answer(upstream, "Otherwise.")
    engine.click("#message")
    engine.type(ARROW_UP)
    engine.until("document.querySelector('.editor textarea')?.value === 'And then?'")
    engine.type(" Or else?" + ENTER)
    engine.until(shows("Otherwise."))
    engine.until(ending("complete"))
    engine.click("[aria-label='Previous version']:enabled")
    engine.until(shows("And so."))


def rename(engine: Engine) -> None:
    engine.click(".conversation > button")
    engine.click("#conversation-menu [data-rename]")
    engine.until("document.activeElement.matches('.renaming input')")
    engine.type("Of the sky" + ENTER)
    engine.until(f"String({TITLES}) === 'Of the sky'")


def delete_and_bring_back(engine: Engine) -> None:
    engine.click(".conversation > button")
    engine.click("#conversation-menu [data-change=trash]")
    engine.until(f"{TITLES}.length === 0")
    engine.click("#toast [data-undo]")
    engine.until(f"String({TITLES}) === 'Of the sky'")


def search(engine: Engine) -> None:
    engine.click("[data-opens=search]")
    engine.until("document.querySelector('#search').matches(':modal')")
    engine.type("otherwise")
    expression = "document.querySelector('#search mark')?.textContent.toLowerCase() === 'otherwise'"
    engine.until(expression)
    engine.click("#search mark")
    engine.until(shows("Otherwise."))
