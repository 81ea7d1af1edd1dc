"""A long conversation: a page holds a part of it, and loads more as it is read."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Route, ViewportSize, expect

from tests.browser.conftest import NETWORK, Desk, SitDown, Tab
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.line import Line
from tests.support.live import Person, Server
from tests.support.long_thread import LongThread, store_long_thread

PHONE = ViewportSize(width=390, height=844)
SHOWN = "() => [...document.querySelectorAll('#messages > :not(.edge)')].map((one) => one.id)"
# The first visible message, and how far down it is.
LINE = """() => {
  const top = document.getElementById("scroller").getBoundingClientRect().top;
  const line = [...document.querySelectorAll("#messages > :not(.edge)")].find(
    (one) => one.getBoundingClientRect().bottom > top,
  );
  return [line.id, line.getBoundingClientRect().top];
}"""
SCROLL = "(top) => { document.getElementById('scroller').scrollTop = top; }"
TOP_OF = "(id) => document.getElementById(id).getBoundingClientRect().top"
FIND = "(text) => find(text, false, true, true)"
# Grows the content added above frame by frame, as if a busy browser sized it late; resolves
# afterwards.
GROWING = """() => new Promise((done) => {
  const grow = (frames, first) => requestAnimationFrame(() => {
    first.style.paddingTop = `${frames * 40}px`;
    if (frames < 8) grow(frames + 1, first);
    else requestAnimationFrame(() => requestAnimationFrame(done));
  });
  new MutationObserver((_, observer) => {
    const first = document.querySelector("#messages > :not(.edge)");
    if (first.id === began) return;
    observer.disconnect();
    grow(1, first);
  }).observe(document.getElementById("messages"), { childList: true });
  const began = document.querySelector("#messages > :not(.edge)").id;
})"""
# Stores another version of the third message, which another tab is now reading.
READ_ELSEWHERE = """
from chatapp.models import Conversation, Message
conversation = Conversation.objects.get(pk={pk!r})
other = Message.objects.create(
    conversation=conversation, parent_id={parent!r}, role="user", content="Elsewhere"
)
conversation.activate_branch(other.pk)
"""
EARLIER = "**/earlier/**"
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def long(server: Server, alice: Person) -> LongThread:
    return store_long_thread(server, alice)


def read_numbers(tab: Tab, long: LongThread) -> list[int]:
    """Return the numbers of the messages on the page; -1 for a new one."""
    numbers = {long.selector(number)[1:]: number for number in range(long.length)}
    return [numbers.get(id, -1) for id in tab.page.evaluate(SHOWN)]


def message(tab: Tab, long: LongThread, number: int) -> Locator:
    return tab.page.locator(long.selector(number))


def scroll_up(tab: Tab, top: int) -> tuple[str, float]:
    """Scroll up until earlier messages are requested, and return the line read there before they
    arrive: what was never visible is painted first and gets its own height only then."""
    routes: list[Route] = []
    tab.page.route(EARLIER, lambda route: routes.append(route))
    with tab.page.expect_request(EARLIER):
        tab.page.evaluate(SCROLL, top)
    tab.page.evaluate(PAINTED)
    line, at = tab.page.evaluate(LINE)
    for route in routes:
        route.continue_()
    tab.page.unroute(EARLIER)
    return line, at


def test_a_page_holds_the_newest_messages_and_loads_earlier_ones(
    desk: Desk, long: LongThread
) -> None:
    tab = desk.open(long.path)
    assert read_numbers(tab, long) == list(range(970, 1000))
    expect(message(tab, long, 999)).to_be_in_viewport()
    tab.page.locator("#scroller").focus()
    tab.page.keyboard.press("Home")
    expect(message(tab, long, 930)).to_be_attached()
    assert read_numbers(tab, long) == list(range(930, 1000))
    tab.page.keyboard.press("Home")
    expect(message(tab, long, 890)).to_be_attached()
    assert read_numbers(tab, long) == list(range(890, 1000))


@pytest.mark.thorough
@pytest.mark.parametrize("phone", [None, PHONE])
def test_the_line_being_read_does_not_move(
    sit_down: SitDown, alice: Person, long: LongThread, phone: ViewportSize | None
) -> None:
    tab = sit_down(alice, phone=phone).open(long.path)
    for first, top in ((970, 400), (930, 0)):
        expect(message(tab, long, first)).to_be_attached()
        line, before = scroll_up(tab, top)
        expect(message(tab, long, first - 40)).to_be_attached()
        tab.page.evaluate(PAINTED)
        assert abs(tab.page.evaluate(TOP_OF, line) - before) < 2


@pytest.mark.thorough
def test_the_line_being_read_does_not_move_while_content_above_grows(
    desk: Desk, long: LongThread
) -> None:
    tab = desk.open(long.path)
    tab.page.evaluate(f"() => {{ window.grown = ({GROWING})(); }}")
    line, before = scroll_up(tab, 400)
    tab.page.evaluate("grown")
    assert abs(tab.page.evaluate(TOP_OF, line) - before) < 2


@pytest.mark.thorough
def test_earlier_messages_are_loaded_by_keyboard_and_the_focus_stays(
    desk: Desk, long: LongThread
) -> None:
    tab = desk.open(long.path)
    earlier = tab.page.get_by_role("link", name="Earlier messages")
    tab.page.route(EARLIER, lambda route: route.abort())
    desk.expect_error("Failed to fetch|ERR_FAILED|htmx:error")
    earlier.focus()
    tab.page.unroute(EARLIER)
    tab.page.keyboard.press("Enter")
    expect(message(tab, long, 930)).to_be_attached()
    expect(earlier).to_be_focused()


def test_a_reply_streams_on_while_earlier_messages_load(
    desk: Desk, long: LongThread, upstream: FakeUpstream
) -> None:
    tab = desk.open(long.path)
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it."), finish(), done())
    tab.ask("Go on")
    expect(tab.answer).to_have_text("Half of")
    line, before = scroll_up(tab, 0)
    expect(message(tab, long, 930)).to_be_attached()
    pause.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Half of it.")
    tab.page.evaluate(PAINTED)
    assert abs(tab.page.evaluate(TOP_OF, line) - before) < 2


def test_a_linked_message_is_shown_in_context_and_the_thread_loads_to_its_end(
    desk: Desk, long: LongThread
) -> None:
    tab = desk.open(f"{long.path}?at={long.id(500)}")
    assert read_numbers(tab, long) == list(range(486, 516))
    expect(message(tab, long, 500)).to_be_focused()
    expect(message(tab, long, 500)).to_be_in_viewport()
    expect(message(tab, long, 500)).to_have_class(re.compile("led-to"))
    expect(tab.page.locator("[data-to-latest]")).to_be_visible()
    tab.page.keyboard.press("End")
    expect(message(tab, long, 540)).to_be_attached()
    # the view does not jump to the end by itself
    expect(message(tab, long, 556)).not_to_be_attached()
    expect(message(tab, long, 540)).not_to_be_in_viewport()
    tab.page.keyboard.press("Home")
    expect(message(tab, long, 446)).to_be_attached()
    tab.page.get_by_role("button", name="Latest").click()
    expect(message(tab, long, 999)).to_be_in_viewport()
    expect(message(tab, long, 500)).not_to_be_attached()
    tab.page.go_back()
    expect(message(tab, long, 486)).to_be_in_viewport()  # where they were before
    expect(message(tab, long, 970)).not_to_be_attached()


def go_away_and_back(tab: Tab) -> None:
    tab.page.get_by_role("link", name="New chat").first.click()
    expect(tab.page.locator("#title")).to_have_text("New chat")
    tab.page.go_back()


def go_to_a_page_of_its_own_and_back(tab: Tab) -> None:
    tab.page.goto(f"{tab.page.url.partition('/c/')[0]}/help/")
    tab.page.go_back()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "come_back", [go_away_and_back, go_to_a_page_of_its_own_and_back, Tab.reload]
)
def test_coming_back_restores_the_position_however_far_up(
    desk: Desk, long: LongThread, come_back: Callable[[Tab], None]
) -> None:
    tab = desk.open(long.path)
    tab.page.evaluate(SCROLL, 0)
    expect(message(tab, long, 930)).to_be_attached()
    tab.page.evaluate(PAINTED)
    tab.page.evaluate(SCROLL, 1500)
    tab.page.evaluate(PAINTED)  # gives content above its own height
    line, before = tab.page.evaluate(LINE)
    assert line not in {long.selector(number)[1:] for number in range(970, 1000)}
    entries = tab.page.evaluate("history.length")
    come_back(tab)
    expect(message(tab, long, 999)).not_to_be_attached()
    expect(tab.page.locator(f"[id='{line}']")).to_be_attached()
    tab.page.wait_for_function(
        f"([id, top]) => Math.abs(({TOP_OF})(id) - top) < 2", arg=[line, before]
    )
    assert tab.page.url.endswith(long.path)
    if come_back is Tab.reload:
        assert tab.page.evaluate("history.length") == entries


@pytest.mark.thorough
def test_each_history_entry_has_its_own_position(desk: Desk, long: LongThread) -> None:
    tab = desk.open(long.path)
    for number in (100, 400):
        tab.page.get_by_role("button", name="Outline").click()
        dialog = tab.page.get_by_role("dialog", name="Your prompts in this chat")
        link = f"""(link) => {{
          link.href = "{long.path}?at={long.id(number)}";
          link.setAttribute("hx-get", link.href);
        }}"""
        first = dialog.get_by_role("link").first
        first.evaluate(link)
        first.click()
        expect(message(tab, long, number)).to_be_focused()
    for number in (100, 999):
        tab.page.go_back()
        expect(message(tab, long, number)).to_be_in_viewport()
    tab.page.go_forward()
    expect(message(tab, long, 100)).to_be_in_viewport()


@pytest.mark.thorough
def test_the_outline_and_latest_follow_the_branch_shown(
    desk: Desk, server: Server, alice: Person
) -> None:
    long = store_long_thread(server, alice, 60)
    tab = desk.open(f"{long.path}?at={long.id(4)}")
    server.run(READ_ELSEWHERE.format(pk=str(long.pk), parent=str(long.id(1))))
    tab.page.get_by_role("button", name="Outline").click()
    dialog = tab.page.get_by_role("dialog", name="Your prompts in this chat")
    expect(dialog.get_by_role("link", name="Prompt 58")).to_be_in_viewport()
    tab.page.keyboard.press("Escape")
    tab.page.route("**/later/**", lambda route: route.abort())
    desk.expect_error("Failed to fetch|ERR_FAILED|htmx:error")
    tab.page.get_by_role("button", name="Latest").click()
    expect(message(tab, long, 59)).to_be_in_viewport()
    expect(tab.page).to_have_url(re.compile(rf"{long.path}$"))
    tab.reload()
    expect(message(tab, long, 59)).to_be_in_viewport()


@pytest.mark.thorough
def test_reading_on_reaches_the_end_where_a_reply_still_streams(
    desk: Desk, long: LongThread, upstream: FakeUpstream
) -> None:
    tab, beside = desk.open(f"{long.path}?at={long.id(960)}"), desk.open(long.path)
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it."), finish(), done())
    beside.ask("Go on")
    expect(beside.answer).to_have_text("Half of")
    expect(tab.sidebar.locator(".running")).to_be_visible()
    assert read_numbers(tab, long) == list(
        range(946, 976)
    )  # nobody is moved away from what they read
    tab.page.keyboard.press("End")
    expect(tab.answer).to_have_text("Half of")
    pause.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Half of it.")
    assert len(set(tab.page.evaluate(SHOWN))) == len(tab.page.evaluate(SHOWN)) == 56


@pytest.mark.thorough
def test_a_prompt_from_an_earlier_position_leads_to_the_end(
    desk: Desk, long: LongThread, upstream: FakeUpstream
) -> None:
    tab = desk.open(f"{long.path}?at={long.id(500)}")
    tab.ask("And now?")
    tab.expect_ending("complete")
    expect(message(tab, long, 999)).to_be_attached()
    expect(message(tab, long, 500)).not_to_be_attached()
    expect(tab.page).to_have_url(re.compile(rf"{long.path}$"))
    ids = tab.page.evaluate(SHOWN)
    assert len(ids) == 30
    tab.reload()
    assert tab.page.evaluate(SHOWN) == ids


@pytest.mark.thorough
def test_a_tab_that_reconnects_gets_only_what_it_lacks(
    sit_down: SitDown, alice: Person, line: Line, desk: Desk, long: LongThread
) -> None:
    away = sit_down(alice, url=line.url)
    away.expect_error(NETWORK)
    tab = away.open(long.path)
    beside = desk.open(long.path)
    tab.page.evaluate(SCROLL, 0)
    expect(message(tab, long, 930)).to_be_attached()
    tab.page.evaluate(PAINTED)
    before = tab.page.evaluate(LINE)
    line.cut()
    beside.ask("And now?")
    beside.expect_ending("complete")
    line.mend()
    tab.until_connected()
    tab.expect_ending("complete")
    expect(tab.page.locator("#messages > :not(.edge)")).to_have_count(72)
    assert read_numbers(tab, long)[:70] == list(range(930, 1000))
    tab.page.evaluate(PAINTED)
    assert tab.page.evaluate(LINE) == before


@pytest.mark.thorough
def test_the_branch_read_last_is_shown_again_everywhere(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    for text in ("One", "Two"):
        upstream.script(role(), delta(text), finish(), done())
    tab.ask("Which?")
    expect(tab.answer).to_have_text("One")
    tab.expect_ending("complete")
    tab.page.get_by_role("button", name="Retry").click()
    expect(tab.answer).to_have_text("Two")
    tab.expect_ending("complete")
    tab.page.get_by_role("button", name="Previous reply").click()
    expect(tab.answer).to_have_text("One")
    tab.reload()
    expect(tab.answer).to_have_text("One")
    again = desk.open(tab.page.url.removeprefix(desk.url))
    expect(again.answer).to_have_text("One")
    again.page.get_by_role("link", name="New chat").first.click()
    expect(again.page.locator("#messages > *")).to_have_count(0)
    again.page.go_back()
    expect(again.answer).to_have_text("One")
    again.ask("And then?")
    again.expect_ending("complete")
    again.reload()
    expect(again.page.locator("[data-region=answer]").first).to_have_text("One")


@pytest.mark.thorough
@pytest.mark.parametrize("phone", [None, PHONE])
def test_the_outline_leads_anywhere(
    sit_down: SitDown, alice: Person, long: LongThread, phone: ViewportSize | None
) -> None:
    tab = sit_down(alice, phone=phone).open(long.path)
    tab.page.get_by_role("button", name="Outline").focus()
    tab.page.keyboard.press("Enter")
    dialog = tab.page.get_by_role("dialog", name="Your prompts in this chat")
    expect(dialog.get_by_role("link", name="Prompt 998")).to_be_in_viewport()
    expect(dialog.get_by_text(re.compile("401.500 of 500"))).to_be_visible()
    dialog.get_by_role("button", name="Oldest").click()
    expect(dialog.get_by_text(re.compile("^1.100 of 500"))).to_be_visible()
    expect(dialog.get_by_role("button", name="Older")).to_be_disabled()
    dialog.get_by_role("link", name="Prompt 4", exact=True).click()
    expect(message(tab, long, 4)).to_be_focused()
    expect(message(tab, long, 4)).to_be_in_viewport()
    expect(dialog).to_be_hidden()
    expect(tab.page).to_have_url(re.compile(f"at={long.id(4)}"))
    tab.page.go_back()
    expect(message(tab, long, 999)).to_be_in_viewport()


@pytest.mark.thorough
def test_a_conversation_has_an_outline_once_it_is_long(
    desk: Desk, server: Server, alice: Person
) -> None:
    tab = desk.open(store_long_thread(server, alice, 30).path)
    outline = tab.page.get_by_role("button", name="Outline")
    expect(outline).to_be_hidden()
    tab.ask("One more")
    tab.expect_ending("complete")
    expect(outline).to_be_visible()


@pytest.mark.thorough
@pytest.mark.parametrize("number", [998, 999])
def test_the_link_to_a_message_is_copied(desk: Desk, long: LongThread, number: int) -> None:
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = desk.open(long.path)
    message(tab, long, number).get_by_role("button", name="Copy link").click()
    expect(tab.page.locator("#toast")).to_contain_text("Only you can open it.")
    link = tab.page.evaluate("() => navigator.clipboard.readText()")
    assert link == f"{desk.url}{long.path}?at={long.id(number)}"
    again = desk.open(link.removeprefix(desk.url))
    expect(message(again, long, number)).to_be_focused()


@pytest.mark.thorough
def test_the_browsers_search_finds_what_is_on_the_page(desk: Desk, long: LongThread) -> None:
    tab = desk.open(long.path)
    assert tab.page.evaluate(FIND, "Prompt 970")
    where = "() => getSelection().anchorNode.parentElement.closest('[data-message]').id"
    assert tab.page.evaluate(where) == long.selector(970)[1:]
    assert not tab.page.evaluate(FIND, "Prompt 400")
