"""The files of a thread in Firefox and in WebKit: an image, a document, an edit."""

import pytest

from tests.engines.engine import Engine
from tests.engines.person import CONNECTED, ending, sign_in
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role, usage
from tests.support.file_thread import document, image, store_file_thread
from tests.support.live import Server, Site

pytestmark = pytest.mark.browser

ARROW_RIGHT, ESCAPE = "\ue014", "\ue00c"
SHOWN = "document.querySelector('#viewer[open] .stage img')"
WIDTH = f"{SHOWN}.getBoundingClientRect().width"


def test_files_are_viewed_read_and_removed(
    engine: Engine, site: Site, server: Server, upstream: FakeUpstream
) -> None:
    person = site.person()
    files = [image("sky.png", 1600, 1200), image("sea.png", 300, 3000), document("a.txt", "Green")]
    path = store_file_thread(server, person, ("Look", files))
    sign_in(engine, server, person.username)
    engine.go(server.url + path)
    engine.until(CONNECTED)
    view(engine)
    read_document(engine)
    edit(engine, upstream)
    assert engine.errors == []


def view(engine: Engine) -> None:
    engine.click(".files li:first-child img")
    engine.until(f"{SHOWN}?.alt === 'sky.png' && {SHOWN}.naturalWidth === 1600")
    engine.until(f"{WIDTH} <= innerWidth")
    fitting = engine.run(WIDTH)
    engine.type("++")
    assert engine.run(WIDTH) == pytest.approx(2.25 * fitting, rel=0.01)
    engine.type("0")
    assert engine.run(WIDTH) == pytest.approx(fitting, rel=0.01)
    engine.type(ARROW_RIGHT)
    engine.until(f"{SHOWN}.alt === 'sea.png' && {SHOWN}.naturalHeight === 3000")
    engine.until(f"{SHOWN}.getBoundingClientRect().height <= innerHeight")
    engine.type(ESCAPE)
    engine.until(f"{SHOWN} === null")
    engine.until("document.activeElement.matches('.files li:first-child a')")


def read_document(engine: Engine) -> None:
    engine.click(".files .document")
    engine.until("document.querySelector('#document[open] .text')?.textContent === 'Green'")
    engine.click("#document [data-closes]")
    engine.until("document.querySelector('#document') === null")


def edit(engine: Engine, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Seen."), finish(), usage(), done())
    engine.click("[data-edit]")
    engine.click("[aria-label='Remove sky.png']")
    engine.click(".editor .button")
    engine.until("document.querySelector('.siblings')?.textContent.includes('2 / 2') ?? false")
    engine.until(ending("complete"))
    engine.until("document.querySelectorAll('.files > li').length === 2")
