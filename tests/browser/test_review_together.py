"""Two reviewers and the person whose chat it is, each in their own browser."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, SitDown
from tests.support.fake_upstream import (
    FakeUpstream,
    Step,
    choice,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.live import Person, Server, Site
from tests.support.reviewer import address, open_in

pytestmark = pytest.mark.thorough

REASON = "A complaint <img src=/x onerror=alert(1)>"
PROMOTED = """
from chatapp.models import User
User.objects.filter(username={reviewer!r}).update(is_staff=True, reviews=True)
"""


@pytest.fixture(scope="module")
def rita(site: Site, server_with_tools: Server) -> Person:
    """A reviewer who is not an administrator."""
    rita = site.person()
    server_with_tools.run(PROMOTED.format(reviewer=rita.username))
    return rita


@pytest.fixture
def desk(sit_down: SitDown, alice: Person, server_with_tools: Server) -> Desk:
    return sit_down(alice, url=server_with_tools.url)


def call(name: str, **arguments: object) -> list[Step]:
    """Return the steps of a reply that reasons and calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    called = choice({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]})
    return [role(), reasoning("The tool knows."), called, finish("tool_calls"), usage(), done()]


def test_one_reviewers_action_is_shown_to_the_other_and_the_person_sees_why(
    sit_down: SitDown,
    site: Site,
    server_with_tools: Server,
    desk: Desk,
    rita: Person,
    upstream: FakeUpstream,
) -> None:
    upstream.script(*call("test__echo", text="a word of hers"))
    upstream.script(role(), delta("It said so."), finish(), usage(), done())
    upstream.script(role(), delta("It said so again."), finish(), usage(), done())
    tab = desk.open()
    tab.ask("Echo this")
    tab.region("tool-call").get_by_role("button", name="Allow", exact=True).click()
    tab.expect_ending("complete")
    tab.reply.get_by_role("button", name="Retry", exact=True).click()
    expect(tab.answer).to_have_text("It said so again.")
    tab.expect_ending("complete")
    conversation = tab.page.url.rstrip("/").rpartition("/")[2]

    ritas = sit_down(rita, url=server_with_tools.url).context.new_page()
    open_in(ritas, server_with_tools.url, conversation, REASON)
    expect(ritas.locator(".review-message")).to_have_count(3)
    for text in ("The tool knows.", "a word of hers", "It said so.", "It said so again."):
        expect(ritas.locator(".review").get_by_text(text, exact=True).first).to_be_visible()

    olives_desk = sit_down(site.olive, url=server_with_tools.url)
    olives_desk.expect_error("409")
    olives = olives_desk.context.new_page()
    olives.goto(f"{server_with_tools.url}{address(conversation)}")
    note = olives.get_by_label("Note", exact=True)
    note.fill("Too long to type again")
    ritas.keyboard.press("a")
    expect(ritas.get_by_text("Claimed by you until")).to_be_visible()
    expect(olives.locator("#changes")).to_contain_text(f"{rita.username} claimed it at")

    olives.get_by_role("button", name="Add note").click()
    expect(olives.get_by_text("Nothing was saved, because this chat")).to_contain_text(
        f"{rita.username} claimed it at"
    )
    expect(note).to_have_value("Too long to type again")
    olives.get_by_role("button", name="Add note").click()
    expect(olives.locator(".review-note")).to_have_text("Too long to type again")
    olives.get_by_role("button", name="Claim").click()
    expect(olives.get_by_text(f"{rita.username} has claimed this chat until")).to_be_visible()

    tab.page.goto(f"{server_with_tools.url}/privacy/")
    row = tab.page.get_by_role("row", name=f"{rita.username}, as a reviewer")
    expect(row).to_contain_text(REASON)
    expect(tab.page.locator("img[src='/x']")).to_have_count(0)
