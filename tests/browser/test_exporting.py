"""Exporting a chat, copying it as Markdown, and a page of it that loads nothing."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, Tab
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, reasoning, role, usage

ANSWER = "# Roots\n\n```python\nx = 1\n```\n\nSee [Vega](https://vega.example/). <q>quoted</q>\n"


@pytest.fixture
def tab(desk: Desk, upstream: FakeUpstream) -> Tab:
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=desk.url)
    upstream.script(role(), reasoning("Hm."), delta(ANSWER), finish(), usage(), done())
    tab = desk.open()
    tab.ask("Well?")
    tab.expect_ending("complete")
    return tab


def choose(tab: Tab, item: str) -> None:
    tab.page.get_by_role("button", name="Options for Well?").click()
    tab.page.get_by_role("menuitem", name=item, exact=True).click()


def read_clipboard(page: Page) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def expect_copied(page: Page, text: str) -> None:
    """Wait until the clipboard holds `text`; a promise itself would count as true at once."""
    page.wait_for_function(
        """text => {
          navigator.clipboard.readText().then((held) => (window.copied = held));
          return window.copied === text;
        }""",
        arg=text,
    )


def test_a_chat_is_exported_and_looks_like_the_app_without_it(tab: Tab, tmp_path: Path) -> None:
    choose(tab, "Export…")
    export = tab.page.get_by_role("dialog", name="Export")
    export.get_by_role("radio", name="Web page").check()
    with tab.page.expect_download() as download:
        export.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == "Well_.html"
    download.value.save_as(tmp_path / "chat.html")
    expect(export).to_be_hidden()
    tab.ask("Still connected?")
    tab.expect_ending("complete")
    page = tab.page.context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda request: problems.append(request.url))
    page.goto((tmp_path / "chat.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text("Well?")
    expect(page.get_by_role("heading", name="Roots")).to_be_visible()
    expect(page.locator("q")).to_have_count(0)
    assert problems == [(tmp_path / "chat.html").as_uri()]
    page.close()


def test_a_chat_and_a_message_are_copied_as_markdown(tab: Tab) -> None:
    choose(tab, "Copy as Markdown")
    expect(tab.page.locator("#toast p")).to_have_text("Copied as Markdown.")
    text = read_clipboard(tab.page)
    assert text.startswith("# Well?\n")
    assert "```python\nx = 1\n```\n" in text
    assert "\\<q>quoted\\</q>" in text
    tab.page.get_by_role("button", name="More actions for this reply").click()
    tab.page.get_by_role("menuitem", name="Copy as Markdown").click()
    expect_copied(tab.page, ANSWER)
    tab.page.get_by_role("button", name="More actions for this prompt").click()
    tab.page.get_by_role("menuitem", name="Copy as Markdown").click()
    expect_copied(tab.page, "Well?")
