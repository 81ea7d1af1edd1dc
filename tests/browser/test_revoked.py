"""The page of a person who loses access to its socket."""

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NETWORK, SitDown
from tests.support.fake_upstream import FakeUpstream
from tests.support.line import Line
from tests.support.live import PASSWORD, Person, Server

DEACTIVATE = """
from chatapp.models import User
User.objects.filter(username={name!r}).update(is_active=False)
"""
NEW = f"a staple, {uuid4()}"

PATIENCE_MS = 60_000  # for a browser that lays out two megabytes, more than any page lets through


def test_a_password_changed_elsewhere_signs_this_browser_out_and_keeps_the_text(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    here = sit_down(alice)
    here.expect_error(r"WebSocket|htmx:ws")
    tab = here.open()
    tab.message.fill("Not sent yet")
    elsewhere = sit_down()
    page = elsewhere.context.new_page()
    page.goto(elsewhere.url + "/accounts/login/")
    page.get_by_label("Username").fill(alice.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(elsewhere.url + "/")
    beside = elsewhere.open()
    page.goto(elsewhere.url + "/accounts/password/change/")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password (again)").fill(NEW)
    page.get_by_role("button", name="Change password").click()
    expect(tab.connection).to_contain_text("You are signed out.")
    expect(tab.message).to_have_value("Not sent yet")
    # The browser that set it continues, also in its other tabs.
    beside.until_connected()
    beside.ask("And here?")
    beside.expect_ending("complete")
    expect(beside.connection).to_be_hidden()


def test_a_deactivated_person_is_told_and_keeps_the_text(
    sit_down: SitDown, alice: Person, server: Server, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice)
    desk.expect_error(r"WebSocket|htmx:ws")
    tab = desk.open()
    server.run(DEACTIVATE.format(name=alice.username))
    tab.ask("Am I still here?")
    expect(tab.connection).to_contain_text("no longer active")
    expect(tab.message).to_have_value("Am I still here?")
    assert not upstream.chat_requests


@pytest.mark.thorough
def test_the_sign_in_page_says_that_the_account_was_deactivated(
    sit_down: SitDown, alice: Person, server: Server
) -> None:
    desk = sit_down(alice)
    desk.expect_error(r"WebSocket|htmx:ws")
    tab, beside = desk.open(), desk.open()
    server.run(DEACTIVATE.format(name=alice.username))
    tab.page.reload()
    beside.page.get_by_role("link", name="New chat").click()
    for each_tab in (tab, beside):
        each_tab.page.wait_for_url("**/accounts/login/**")
        expect(each_tab.page.get_by_role("alert")).to_contain_text("Your account was deactivated")


@pytest.mark.thorough
def test_a_deactivated_person_is_told_when_reconnecting_later(
    sit_down: SitDown, alice: Person, line: Line, server: Server
) -> None:
    desk = sit_down(alice, url=line.url)
    desk.expect_error(NETWORK + "|403")
    tab = desk.open()
    line.cut()
    server.run(DEACTIVATE.format(name=alice.username))
    line.mend()
    expect(tab.connection).to_contain_text("no longer active")


@pytest.mark.thorough
def test_text_too_large_for_any_message_is_returned_with_an_explanation(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down(alice)
    desk.expect_error(r"WebSocket|htmx:ws")
    tab = desk.open()
    tab.page.evaluate("document.getElementById('message').dataset.mostCharacters = 1e9")
    text = "x" * 2_000_000
    tab.message.fill(text, timeout=PATIENCE_MS)
    tab.send.click(timeout=PATIENCE_MS)
    expect(tab.problem).to_contain_text("too large", timeout=PATIENCE_MS)
    expect(tab.message).to_have_value(text, timeout=PATIENCE_MS)
    tab.message.fill("Shorter")
    tab.until_connected()
    tab.send.click()
    tab.expect_ending("complete")
    assert [request.body["messages"][-1]["content"] for request in upstream.chat_requests] == [
        "Shorter"
    ]
