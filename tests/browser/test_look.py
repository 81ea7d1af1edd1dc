"""The first view of a page, and the text that nothing may cover."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, SitDown, Tab, open_confirmed
from tests.support.fake_upstream import FakeUpstream, delta, done, finish
from tests.support.live import Server, Site
from tests.support.profile import sample_params

LONG = "\n\n".join(f"Paragraph {number} of a long reply." for number in range(80))
WIDE = f"```python\nprint({'1 + ' * 80}1)\n```\n\n" + "| a | b |\n|-|-|\n| 1 | 2 |\n"


# How far the middle of each box is below that of the first line of its label.
OFFSETS = """[...document.querySelectorAll("label:has(input), .check label")].map((label) => {
  const box = (label.control ?? label.querySelector("input")).getBoundingClientRect();
  const walker = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && !walker.currentNode.data.trim());
  const range = document.createRange();
  range.selectNodeContents(walker.currentNode);
  const line = range.getClientRects()[0];
  return box.top + box.height / 2 - line.top - line.height / 2;
})"""

TASK_OFFSETS = """answer => [...answer.querySelectorAll("input")].map((input) => {
  const box = input.getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(input.closest("li"));
  const line = [...range.getClientRects()].at(-1);
  return box.top + box.height / 2 - line.top - line.height / 2;
})"""


def top(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["y"]


def bottom(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["y"] + box["height"]


def middle(locator: Locator) -> float:
    return (top(locator) + bottom(locator)) / 2


def test_fields_for_a_few_words_are_as_wide_on_all_pages(sit_down: SitDown, site: Site) -> None:
    desk = sit_down(site.olive, viewport={"width": 1280, "height": 800})
    page = desk.context.new_page()
    pages = {
        "accounts/password/change/": "[type=password]",
        "accounts/profile/": "[type=email]",
        "presets/new/": "[name=name]",
        "settings/": "[name=name]",
        "settings/tools/new/": "[name=url]",
    }
    widths = {}
    for path, fields in pages.items():
        open_confirmed(page, f"{desk.url}/{path}")
        offset_widths = page.locator(fields).evaluate_all(
            "all => all.map((one) => one.offsetWidth)"
        )
        widths[path] = set(offset_widths)
    assert widths == {path: {384} for path in pages}


def test_a_new_chat_has_its_composer_in_the_middle(tab: Tab, upstream: FakeUpstream) -> None:
    height = tab.page.evaluate("innerHeight")
    composer = tab.page.locator(".composer-card")
    expect(tab.page.locator(".welcome .mark")).to_be_visible()
    assert height * 0.3 < top(composer) < height * 0.6
    expect(tab.page.locator(".composer")).to_have_attribute("data-empty", "")  # Send is disabled
    expect(tab.page.get_by_role("link", name="Connect a provider")).to_have_count(0)
    tab.ask("Hello")
    tab.expect_ending("complete")
    assert height - bottom(composer) < 60
    expect(tab.page.locator(".welcome")).to_be_hidden()
    expect(tab.page.locator(".beginnings")).to_be_hidden()


@pytest.mark.thorough
def test_an_administrator_is_shown_what_to_do_first(sit_down: SitDown, site: Site) -> None:
    with site.server() as server:  # with only the demo
        olives = sit_down(site.olive, url=server.url)
        page = olives.open().page
        page.get_by_role("link", name="Connect a provider").click()
        expect(page).to_have_url(re.compile(r"settings(/|%2F)models(/|%2F)new"))
        page.close()
        alices = sit_down(site.person(), url=server.url).open()
        expect(alices.page.get_by_role("link", name="Connect a provider")).to_have_count(0)
        alices.page.close()


@pytest.mark.parametrize("width", sample_params([390, 1280]))
def test_boxes_are_level_with_the_first_line_of_their_text(
    sit_down: SitDown, site: Site, server: Server, width: int
) -> None:
    page = sit_down(site.olive, viewport={"width": width, "height": 800}).context.new_page()
    for path in ("/people/invitations/", "/policy/"):
        open_confirmed(page, server.url + path)
        offsets = page.evaluate(OFFSETS)
        assert offsets
        assert max(map(abs, offsets)) <= 1


def test_tasks_of_a_reply_have_their_boxes_on_the_line_of_their_text(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(delta("- [x] Done\n- [ ] Open\n"), finish("stop"), done())
    tab.ask("Tasks")
    tab.expect_ending("complete")
    offsets = tab.answer.evaluate(TASK_OFFSETS)
    assert len(offsets) == 2
    assert max(map(abs, offsets)) <= 1


def test_a_selected_chat_has_its_box_on_the_line_of_its_title(tab: Tab) -> None:
    tab.ask("Hello")
    tab.expect_ending("complete")
    tab.sidebar.get_by_role("link", name="Hello").click(modifiers=["Control"])
    row = tab.sidebar.get_by_role("checkbox", name="Hello", exact=True)
    expect(row).to_be_checked()
    assert abs(middle(row) - middle(row.locator(".conversation-title"))) <= 1
    assert row.evaluate("row => getComputedStyle(row).alignItems") == "center"


def test_the_latest_button_covers_nothing_and_moves_nothing(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(delta(LONG), finish("stop"), done())
    tab.ask("Much")
    tab.expect_ending("complete")
    scroller, line = tab.page.locator("#scroller"), tab.answer.locator("p").nth(40)
    latest = tab.page.get_by_role("button", name="Latest")
    scroller.evaluate("scroller => { scroller.scrollTop = scroller.scrollHeight / 2 }")
    expect(latest).to_be_visible()
    before = top(line)
    assert top(latest) >= bottom(scroller)
    assert bottom(latest) <= top(tab.page.locator(".composer-card"))
    assert scroller.evaluate("s => s.scrollHeight / 2 - s.scrollTop") < 60
    latest.click()
    expect(latest).to_be_hidden()
    assert scroller.evaluate("s => s.scrollHeight - s.scrollTop - s.clientHeight") < 1
    assert before != top(line)


@pytest.mark.thorough
def test_content_that_is_cut_off_shows_that_it_scrolls(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(delta(WIDE), finish("stop"), done())
    tab.ask("Code")
    tab.expect_ending("complete")
    for cut in (tab.answer.locator("pre"), tab.answer.locator(".table-scroll")):
        attached = cut.evaluate("cut => getComputedStyle(cut).backgroundAttachment")
        assert attached == "local, local, scroll, scroll"


@pytest.mark.thorough
def test_an_upstream_failure_shows_no_errno(sit_down: SitDown, site: Site, desk: Desk) -> None:
    with site.server(OPENAI_BASE_URL="http://127.0.0.1:1/v1") as server:
        tab = sit_down(site.person(), url=server.url).open()
        banner = tab.page.locator(".banner")
        expect(banner).to_contain_text("the connection was refused")
        expect(banner).not_to_contain_text("Errno")
        tab.page.close()
