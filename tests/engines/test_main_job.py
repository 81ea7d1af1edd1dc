"""A person's main job in Firefox and in WebKit: sign in, ask, read, stop, reload, come back."""

import re

import pytest

from tests.engines.engine import Engine
from tests.engines.person import CONNECTED, ask, ending, shows, sign_in
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Stall,
    Step,
    delta,
    done,
    finish,
    role,
    usage,
)
from tests.support.live import Server, Site

pytestmark = pytest.mark.browser

STREAMING = "document.querySelector('[data-ending=streaming]') !== null"
# for an unreachable server
NETWORK = r"(?i)websocket|htmx:ws:error|connection to|networkerror|load failed"


def test_the_main_job(engine: Engine, site: Site, server: Server, upstream: FakeUpstream) -> None:
    sign_in(engine, server, site.person().username)
    read_to_the_end(engine, upstream)
    stop(engine, upstream)
    reload(engine)
    come_back_to_a_server_that_was_away(engine, server, upstream)
    go_through_the_sidebar(engine)
    assert [error for error in engine.errors if not re.search(NETWORK, error)] == []


def read_to_the_end(engine: Engine, upstream: FakeUpstream) -> None:
    pause = Pause()
    begun: list[Step] = [role(), delta("Half "), delta("of it"), pause]
    upstream.script(*begun, delta(" and **all**"), finish(), usage(), done())
    ask(engine, "Why?")
    engine.until(shows("Half of it"))
    assert engine.run(STREAMING)
    pause.release()
    engine.until(ending("complete"))
    assert engine.run(shows("Half of it and all"))
    assert engine.run("document.querySelector('[data-region=answer] strong').textContent") == "all"


def stop(engine: Engine, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Kept"), Stall())
    ask(engine, "Go on")
    engine.until(shows("Kept"))
    engine.click("button.stop")
    engine.until(ending("stopped"))
    assert engine.run(shows("Kept"))


def reload(engine: Engine) -> None:
    engine.reload()
    engine.until(CONNECTED)
    assert engine.run(shows("Kept"))
    assert engine.run("document.querySelectorAll('[data-reply]').length") == 2


def come_back_to_a_server_that_was_away(
    engine: Engine, server: Server, upstream: FakeUpstream
) -> None:
    server.stop()
    engine.until(f"!({CONNECTED})")
    server.start()
    engine.until(CONNECTED)
    upstream.script(role(), delta("Back"), finish(), usage(), done())
    ask(engine, "Still there?")
    engine.until(ending("complete"))
    assert engine.run(shows("Back"))


def go_through_the_sidebar(engine: Engine) -> None:
    engine.click("[data-new-chat]")
    engine.until("document.querySelectorAll('[data-reply]').length === 0")
    engine.click("nav[aria-label=Conversations] a[href^='/c/']")
    engine.until("document.querySelectorAll('[data-reply]').length === 3")
    engine.click("#sidebar [data-sidebar-toggle]")
    engine.until("document.querySelector('#app').dataset.sidebar === 'closed'")
