"""An empty chat stays where it is while the composer grows, and loads only what it needs."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_attaching import attach, chips, expect_state, file
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role
from tests.support.live import Person


def top_of_greeting(tab: Tab) -> float:
    top: float = tab.page.get_by_role("heading", name="What would you like to know?").evaluate(
        "(heading) => heading.getBoundingClientRect().top"
    )
    return top


@pytest.mark.parametrize("width", [1280, 390])
def test_the_greeting_stays_while_files_and_text_are_added(
    sit_down: SitDown, alice: Person, width: int
) -> None:
    tab = sit_down(alice, viewport={"width": width, "height": 800}).open()
    before = top_of_greeting(tab)
    attach(tab, file("notes.md"))
    expect_state(tab, "notes.md")
    assert abs(top_of_greeting(tab) - before) <= 1
    tab.message.fill("One\nTwo\nThree")
    assert abs(top_of_greeting(tab) - before) <= 1
    tab.page.get_by_role("button", name="Remove notes.md").click()
    expect(chips(tab)).to_have_count(0)
    assert abs(top_of_greeting(tab) - before) <= 1


MESSAGES = re.compile(r"/(?:js|css)/messages\.\w+\.(js|css)$")


def list_requests(desk: Desk) -> list[str]:
    """Return a list that grows by each kind of file that is requested for messages."""
    kinds: list[str] = []
    desk.context.on("request", lambda request: kinds.extend(MESSAGES.findall(request.url)))
    return kinds


def wait_until_loaded(page: Page) -> None:
    page.wait_for_function(
        """() => document.getElementById("messages-styles").sheet
            && globalThis.$modules.js_messages"""
    )


def test_what_messages_need_is_loaded_at_the_first_sign_of_a_person(
    sit_down: SitDown, alice: Person
) -> None:
    desk = sit_down(alice)
    kinds = list_requests(desk)
    page = desk.open().page
    assert kinds == []
    page.mouse.move(300, 300)
    wait_until_loaded(page)
    assert sorted(kinds) == ["css", "js"]


def test_what_messages_need_is_loaded_with_a_conversation(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Blue"), finish(), done())
    tab = sit_down(alice).open()
    tab.ask("Which colour?")
    tab.expect_ending("complete")
    desk = sit_down(alice)
    kinds = list_requests(desk)
    page = desk.open(urlsplit(tab.page.url).path).page
    wait_until_loaded(page)
    assert sorted(kinds) == ["css", "js"]


def test_what_messages_need_is_requested_again_after_a_failure(
    sit_down: SitDown, alice: Person
) -> None:
    desk = sit_down(alice)
    desk.expect_error("ERR_FAILED")
    page = desk.open().page
    page.route(MESSAGES, lambda route: route.abort())
    with page.expect_event("requestfailed"), page.expect_event("requestfailed"):
        page.mouse.move(300, 300)
    page.unroute(MESSAGES)
    wait_until_loaded(page)
