"""A model refuses a parameter of the chat, and answers without it after one click."""

from playwright.sync_api import expect

from tests.browser.conftest import Desk
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_chat_settings import open_panel, script, wait_for_body
from tests.support.fake_upstream import MODEL, FakeUpstream

# The server remembers what its model refused, and other tests send the same model a temperature.
REFUSAL = "Unsupported parameter: 'top_p' is not supported with this model."


def test_a_refused_parameter_is_left_out_with_one_click(desk: Desk, upstream: FakeUpstream) -> None:
    tab = desk.open()
    open_panel(tab).get_by_label("Top P").fill("0.3")
    upstream.fail(400, {"error": {"message": REFUSAL, "type": "invalid_request_error"}})
    tab.ask("Why?")
    tab.expect_ending("failed")
    assert wait_for_body(upstream)["top_p"] == 0.3
    alert = tab.reply.get_by_role("alert")
    expect(alert).to_contain_text(f"{MODEL} doesn't accept Top P. Your message is kept.")
    expect(alert).to_contain_text(REFUSAL)
    expect_accessible(tab.page)
    script(upstream, "Because.")
    retry = tab.reply.get_by_role("button", name="Retry without Top P")
    retry.focus()
    tab.page.keyboard.press("Enter")
    expect(tab.reply).to_contain_text("Because.")
    expect(tab.reply).to_contain_text("2 / 2")
    tab.expect_ending("complete")
    assert "top_p" not in wait_for_body(upstream)
    script(upstream)
    tab.ask("And?")
    tab.expect_ending("complete")
    assert "top_p" not in wait_for_body(upstream)
