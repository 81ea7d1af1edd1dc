"""Words on the page do not move while more are added, or when the reply ends.

The word being written may wrap to the next line once it is too long. The browser counts that as a
layout shift if it is in an element of its own, so no such element is at the end of a line here.
"""

import re

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser.conftest import SitDown, Tab
from tests.support.fake_upstream import FakeUpstream, delay_frames, delta, done, finish, role, usage
from tests.support.live import Person

PARAGRAPH = (
    "The **committee** that had been asked to look into the matter found, after deliberation, "
    "that nobody could say with *any* certainty who had moved the words, nor `when()` they had "
    "been moved; it recommended that they should be left alone from now on, as far as possible. "
)
SECTION = (
    "## A heading that is long enough to need more than a line of its own on a small screen\n\n"
    f"{PARAGRAPH}\n\n{PARAGRAPH}{PARAGRAPH}\n\n"
    f"1. {PARAGRAPH}\n2. {PARAGRAPH}\n   - {PARAGRAPH}\n\n> {PARAGRAPH}\n\n"
    "```python\ndef move(words):\n    return sorted(words, key=len)  # or not\n```\n\n"
)
TABLE = (
    "| Name | Value | What it is |\n|---|---|---|\n"
    "| one | 1 | a first row that is rather long, if not as wide as the column of text |\n"
    "| two | 2 | a second |\n\n"
)
MEASURE = """() => {
  window.shift = 0;
  window.moved = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value;
  }).observe({type: "layout-shift"});
  let before = [];
  const words = (region) => {
    const found = [], range = document.createRange();
    const home = region.getBoundingClientRect();
    const texts = document.createTreeWalker(region, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const {0: word, index} of texts.currentNode.data.matchAll(/\\S+/g)) {
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + word.length);
        const {left, top} = range.getBoundingClientRect();
        found.push([word, Math.round(left - home.left), Math.round(top - home.top)]);
      }
    }
    return found;
  };
  window.sampling = setInterval(() => {
    const region = document.querySelector("article:last-child [data-region=answer]");
    if (!region) return;
    const now = words(region);
    before.slice(0, -2).forEach(([word, left, top], place) => {
      const [same, x, y] = now[place] ?? [];
      if (same === word && (Math.abs(x - left) > 1 || Math.abs(y - top) > 1)) {
        moved.push(`${word} ${left},${top} to ${x},${y}`);
      }
    });
    before = now;
  }, 60);
}"""
MAX_SHIFT = 0.02  # for a whole reply


def stream(upstream: FakeUpstream, text: str, seconds: float) -> None:
    """Script the text in pieces of a few letters, like tokens."""
    tokens = [delta(token) for token in re.findall(r"\s*\S{1,4}", text)]
    upstream.script(role(), *delay_frames(tokens, seconds), finish(), usage(), done())


@pytest.mark.thorough
@pytest.mark.parametrize("viewport", [(1280, 800), (390, 844)], ids=["desktop", "phone"])
def test_no_word_moves_while_a_reply_streams_or_when_it_ends(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream, viewport: tuple[int, int]
) -> None:
    size: ViewportSize = {"width": viewport[0], "height": viewport[1]}
    tab = sit_down(alice, viewport=size).open()
    stream(upstream, SECTION * 2, 0.006)
    tab.ask("Where are they?")
    shift, moved = measure_shift(tab)
    assert moved == []
    assert shift <= MAX_SHIFT


def test_no_column_moves_while_cells_are_written(tab: Tab, upstream: FakeUpstream) -> None:
    stream(upstream, TABLE * 2, 0.01)
    tab.ask("What is there?")
    shift, moved = measure_shift(tab)
    assert moved == []
    assert shift == 0


def measure_shift(tab: Tab) -> tuple[float, list[str]]:
    page: Page = tab.page
    page.evaluate(MEASURE)
    page.wait_for_selector('article:last-child:not([data-ending="streaming"])', timeout=120_000)
    page.wait_for_timeout(500)  # colours are added, and the observer reports
    return page.evaluate("shift"), page.evaluate("moved")
