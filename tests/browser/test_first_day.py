"""First pages and messages for a new person, without the operators' vocabulary."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown, Tab
from tests.support.fake_upstream import Delay, FakeUpstream, delta, done, finish, usage
from tests.support.live import Site
from tests.support.profile import sample_params

SENTENCES = 'article [role="alert"], article [role="status"]'
BROKEN = {
    "refused": lambda upstream: upstream.fail(401, {"error": {"message": "bad key"}}),
    "unknown": lambda upstream: upstream.fail(404, {"error": {"message": "no such model"}}),
    "cut off": lambda upstream: upstream.script(delta("Half of")),
    "no answer": lambda upstream: upstream.script(finish("stop"), done()),
    "filtered": lambda upstream: upstream.script(delta("Half"), finish("content_filter"), done()),
}


@pytest.mark.parametrize("name", sample_params(BROKEN))
def test_errors_are_explained_without_our_vocabulary(
    tab: Tab, upstream: FakeUpstream, name: str
) -> None:
    BROKEN[name](upstream)
    tab.ask("What happens?")
    message = tab.page.locator(SENTENCES).last
    expect(message).to_be_visible()
    expect(message).not_to_contain_text(re.compile("upstream|dialect|errno", re.IGNORECASE))


@pytest.mark.thorough
def test_no_line_below_a_reply_begins_with_a_dot(
    sit_down: SitDown, site: Site, upstream: FakeUpstream
) -> None:
    # Long enough to have a duration, the second figure.
    upstream.script(delta("Hello"), Delay(0.1), finish("stop"), usage(), done())
    tab = sit_down(site.person(), viewport={"width": 320, "height": 700}).open()
    tab.ask("Hello")
    tab.expect_ending("complete")
    tab.page.evaluate("document.documentElement.dataset.figures = 'shown'")
    facts = tab.reply.locator(".reply-meta > span:not(.actions)")
    dots = facts.evaluate_all(
        "facts => facts.map(f => ['::before', '::after'].map(p => getComputedStyle(f, p).content))"
    )
    assert len(dots) == 2
    assert all(before == "none" for before, _after in dots)
    assert [after for _before, after in dots] == ['"·"'] * (len(dots) - 1) + ["none"]


@pytest.mark.thorough
@pytest.mark.parametrize("mark", ["- ", "> "])
def test_deeply_nested_text_is_readable_on_a_phone(
    sit_down: SitDown, site: Site, upstream: FakeUpstream, mark: str
) -> None:
    levels = (" " * 2 * level + mark + f"level {level}\n" for level in range(50))
    quotes = "> " * 50 + "level 49"
    upstream.script(delta("".join(levels) if mark == "- " else quotes), finish("stop"), done())
    tab = sit_down(site.person(), viewport={"width": 390, "height": 800}).open()
    tab.ask("Nest")
    tab.expect_ending("complete")
    words = tab.answer.get_by_text("level 49")
    box = words.bounding_box()
    assert box
    assert box["width"] >= 50
    assert box["x"] + box["width"] <= 390
