"""The thread follows a streaming reply until the reader scrolls away, and again from its end."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Route, ViewportSize, expect

from tests.browser.conftest import Desk, SitDown, Tab, launch_chromium
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Step,
    delay_frames,
    delta,
    done,
    finish,
    role,
)
from tests.support.live import Person, Server
from tests.support.long_thread import store_long_thread
from tests.support.profile import choose_size, sample_params

DESKTOP = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)
EXCHANGES = choose_size(4, 12)
# Collects how many pixels of the newest line are below or above the visible part, each time that
# the thread or its window has another height. The page's own observer has moved the thread by then,
# but nothing is painted yet.
WATCH = """() => {
  const box = (id) => document.getElementById(id).getBoundingClientRect();
  window.samples = [];
  const resized = new ResizeObserver(() => {
    const line = [...document.querySelectorAll("#messages [data-region=answer] p")].at(-1);
    if (!line) return;
    const { top, bottom } = line.getBoundingClientRect();
    const hidden = Math.max(bottom - box("composer").top, box("scroller").top - top);
    samples.push({ line: line.textContent, hidden: Math.round(hidden) });
  });
  for (const id of ["messages", "scroller"]) resized.observe(document.getElementById(id));
}"""
FOLD = "() => { document.querySelector('#messages p').style.display = 'none' }"
UNFOLD = "() => { document.querySelector('#messages p').style.display = '' }"
# A browser without field-sizing and scroll anchoring.
OLDER_SAFARI = """() => {
  document.getElementById("message").style.fieldSizing = "fixed";
  document.getElementById("scroller").style.overflowAnchor = "none";
}"""
TOP = "() => document.getElementById('scroller').scrollTop"
# Where the thumb of the scrollbar is, and how far it moves for a pixel of the thread.
THUMB = """() => {
  const scroller = document.getElementById("scroller");
  const { right, top, height } = scroller.getBoundingClientRect();
  const step = height / scroller.scrollHeight;
  return [right - 3, top + (scroller.scrollTop + height / 2) * step, step];
}"""
# Resolves once the thread has not moved for some frames.
STILL = """() => new Promise((done) => {
  const scroller = document.getElementById("scroller");
  const look = (top, frames) => requestAnimationFrame(() => {
    if (frames === 10) done();
    else if (scroller.scrollTop === top) look(top, frames + 1);
    else look(scroller.scrollTop, 0);
  });
  look(scroller.scrollTop, 0);
})"""


def lines(first: int, end: int) -> list[Step]:
    return delay_frames([delta(f"Line {number}.\n\n") for number in range(first, end)], 0.01)


def expect_followed(tab: Tab) -> None:
    """Expect that the newest line was visible whenever the thread grew."""
    samples = tab.page.evaluate("samples.splice(0)")
    assert samples
    assert [sample for sample in samples if sample["hidden"] > 0] == []


def open_watched(desk: Desk) -> Tab:
    tab = desk.open()
    tab.page.evaluate(WATCH)
    return tab


@pytest.mark.parametrize("size", sample_params([DESKTOP, PHONE]), ids=["desktop", "phone"])
def test_the_newest_words_of_each_of_many_long_replies_are_visible(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream, size: ViewportSize
) -> None:
    tab = open_watched(sit_down(alice, viewport=size))
    for number in range(EXCHANGES):
        upstream.script(role(), *lines(0, 30), finish(), done())
        tab.ask(f"Question {number}")
        tab.expect_ending("complete")
        expect_followed(tab)


def test_no_change_of_the_layout_stops_following(desk: Desk, upstream: FakeUpstream) -> None:
    tab = open_watched(desk)
    pause = Pause()
    upstream.script(role(), *lines(0, 40), pause, *lines(40, 50), finish(), done())
    tab.ask("Go on and on")
    expect(tab.answer).to_contain_text("Line 30.")
    tab.message.fill("A prompt\nof some\nlines")
    tab.page.set_viewport_size({"width": 700, "height": 500})  # a keyboard opens, too
    tab.message.fill("")
    tab.page.set_viewport_size(DESKTOP)
    tab.page.evaluate(FOLD)
    tab.page.evaluate(UNFOLD)
    pause.release()
    tab.expect_ending("complete")
    expect_followed(tab)


def test_typing_does_not_stop_following_in_an_older_safari(
    desk: Desk, upstream: FakeUpstream
) -> None:
    desk.context.add_init_script("CSS.supports = () => false")
    tab = open_watched(desk)
    tab.page.evaluate(OLDER_SAFARI)
    pause = Pause()
    upstream.script(role(), *lines(0, 30), pause, *lines(30, 60), finish(), done())
    tab.ask("Go on and on")
    expect(tab.answer).to_contain_text("Line 29.")
    tab.message.fill("A prompt\nof some\nlines")
    tab.message.press_sequentially(", and more")
    tab.page.evaluate(STILL)
    pause.release()
    tab.expect_ending("complete")
    expect_followed(tab)


def test_the_end_is_followed_while_earlier_messages_load(
    sit_down: SitDown, server: Server, alice: Person, upstream: FakeUpstream
) -> None:
    long = store_long_thread(server, alice, 60)
    desk = sit_down(alice, viewport={"width": 1280, "height": 4600})
    routes: list[Route] = []
    desk.context.route("**/earlier/**", lambda route: routes.append(route))
    tab = desk.open(long.path)
    expect(tab.page.locator(long.selector(59))).to_be_in_viewport()
    tab.page.evaluate(WATCH)
    pause = Pause()
    upstream.script(role(), *lines(0, 20), pause, *lines(20, 40), finish(), done())
    tab.ask("Go on and on")
    expect(tab.answer).to_contain_text("Line 10.")
    routes[0].continue_()
    expect(tab.page.locator(long.selector(0))).to_be_attached()
    pause.release()
    tab.expect_ending("complete")
    expect_followed(tab)


# ---- ways to scroll by a number of pixels


def scroll_by_wheel(tab: Tab, pixels: int) -> None:
    tab.page.locator("#scroller").hover()
    tab.page.mouse.wheel(0, pixels)


def scroll_by_keys(tab: Tab, pixels: int) -> None:
    tab.message.press("PageDown" if pixels > 0 else "PageUp")


def scroll_by_touch(tab: Tab, pixels: int) -> None:
    session = tab.page.context.new_cdp_session(tab.page)
    for moved in range(0, 11):
        kind = "touchMove" if moved else "touchStart"
        finger = {"x": 195, "y": 400 - pixels * moved / 10 + (pixels > 0) * 200}
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [finger]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def drag_scrollbar(tab: Tab, pixels: int) -> None:
    x, y, step = tab.page.evaluate(THUMB)
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x, y + pixels * step, steps=5)
    tab.page.mouse.up()


Scroll = Callable[[Tab, int], None]


@pytest.fixture
def desk_with_scrollbars(chromium: Browser, server: Server, alice: Person) -> Iterator[Desk]:
    browser = launch_chromium(chromium.browser_type, has_scrollbars=True)
    desk = Desk(browser.new_context(viewport=DESKTOP), server.url, alice)
    yield desk
    browser.close()
    assert desk.list_unexpected_errors() == []


@pytest.mark.parametrize("scroll", sample_params([scroll_by_wheel, scroll_by_keys]))
def test_a_reader_who_scrolls_away_is_left_alone_until_the_end(
    desk: Desk, upstream: FakeUpstream, scroll: Scroll
) -> None:
    expect_left_alone(open_watched(desk), upstream, scroll)


def test_a_reader_who_swipes_on_a_phone_is_left_alone_until_the_end(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    expect_left_alone(open_watched(sit_down(alice, phone=PHONE)), upstream, scroll_by_touch)


def test_a_reader_who_drags_the_scrollbar_is_left_alone_until_the_end(
    desk_with_scrollbars: Desk, upstream: FakeUpstream
) -> None:
    expect_left_alone(open_watched(desk_with_scrollbars), upstream, drag_scrollbar)


def expect_left_alone(tab: Tab, upstream: FakeUpstream, scroll: Scroll) -> None:
    """Scroll away while a reply streams, and back to the end before it has ended."""
    away, back = Pause(), Pause()
    upstream.script(
        *(role(), *lines(0, 40), away, *lines(40, 60), back, *lines(60, 80), finish(), done())
    )
    latest = tab.page.get_by_role("button", name="Latest")
    tab.message.fill("Go on and on")
    tab.send.click()
    expect(tab.answer).to_contain_text("Line 30.")
    scroll(tab, -400)
    expect(latest).to_be_visible()
    tab.page.evaluate(STILL)
    top = tab.page.evaluate(TOP)
    away.release()
    expect(tab.answer).to_contain_text("Line 59.")
    assert tab.page.evaluate(TOP) == top
    expect(latest).to_be_visible()
    while latest.is_visible():
        scroll(tab, 400)
        tab.page.evaluate(STILL)
    tab.page.evaluate("samples.splice(0)")
    back.release()
    tab.expect_ending("complete")
    expect_followed(tab)
