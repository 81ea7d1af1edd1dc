"""The text about themselves that a person gives to models: it is written, sent, and left out."""

from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person


def system_prompts(upstream: FakeUpstream) -> list[object]:
    messages = upstream.wait_for_request().body["messages"]
    return [message["content"] for message in messages if message["role"] == "system"]


def test_what_models_know_is_written_in_a_narrow_window_and_sent_unless_a_chat_is_temporary(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    tab = sit_down(alice, viewport={"width": 390, "height": 844}).open()
    page = tab.page
    chat = page.url
    page.goto(f"{chat}preferences/")
    page.get_by_label("About me").fill("I am a <b>baker</b>.")
    page.get_by_label("How to answer").fill("Answer briefly.")
    section = page.get_by_role("region", name="What models know about you")
    section.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved")
    expect_accessible(page)

    page.goto(chat)
    tab.until_connected()
    tab.ask("Which flour?")
    tab.expect_ending("complete")
    [sent] = system_prompts(upstream)
    assert "I am a <b>baker</b>." in str(sent)
    assert "Answer briefly." in str(sent)

    page.goto(chat)
    tab.until_connected()
    page.get_by_role("switch", name="Temporary chat").check()
    tab.ask("Which flour?")
    tab.expect_ending("complete")
    assert system_prompts(upstream) == []
