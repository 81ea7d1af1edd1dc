"""An upstream that hangs when it is asked for its models: a page shows what it knows, and the rest
comes while it is read."""

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.fake_upstream import MODEL, FakeUpstream, Pause, Script, answered
from tests.live import Server, Site, run

ADD = """
import django
django.setup()
from chatapp.models import Upstream
Upstream.objects.create(name="Slow <b>one</b>", base_url={url!r})
"""


@pytest.fixture
def slow() -> Iterator[FakeUpstream]:
    with FakeUpstream() as slow:
        yield slow


@pytest.fixture
def server(site: Site, upstream: FakeUpstream, slow: FakeUpstream) -> Iterator[Server]:
    own = site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="sk-very-secret")
    run(own.environment, "-c", ADD.format(url=slow.base_url))
    with own:
        yield own


def test_the_models_of_a_slow_upstream_come_while_the_page_is_used(
    sit_down: SitDown, server: Server, site: Site, slow: FakeUpstream
) -> None:
    pause = Pause()
    listed = answered(200, {"data": [{"id": "late"}, {"id": "later"}]})
    slow.models_failure = Script((pause, *listed.steps), headers=listed.headers)
    desk = sit_down(site.person())
    began_at = time.monotonic()
    tab = desk.open()
    picker = tab.page.get_by_role("combobox", name="Model")
    expect(picker.locator("option")).to_have_text([MODEL])
    expect(tab.page.locator(".banner")).to_have_text("Asking Slow <b>one</b> for its models…")
    assert time.monotonic() - began_at < 3  # what its list would be waited for
    tab.ask("Hello?")
    tab.expect_ending("complete")
    tab.page.get_by_role("link", name="New chat").click()  # which leaves what was waited for there
    expect(tab.page.locator(".prompt")).to_have_count(0)
    pause.release()
    expect(picker.locator("option")).to_have_text([MODEL, "late", "later"])
    expect(tab.page.locator(".banner")).to_have_count(0)
    assert picker.evaluate("picker => picker.selectedOptions[0].text") == MODEL

    picker.select_option(label="later")
    remembered = desk.open()
    picker = remembered.page.get_by_role("combobox", name="Model")
    assert picker.evaluate("picker => picker.selectedOptions[0].text") == "later"


def test_one_that_never_answers_is_told_and_what_was_picked_stays_picked(
    sit_down: SitDown, server: Server, site: Site, upstream: FakeUpstream, slow: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    slow.models_failure = Script((Pause(),))
    tab = sit_down(site.person()).open()
    picker = tab.page.get_by_role("combobox", name="Model")
    picker.select_option(label="two")
    expect(tab.page.locator(".banner")).to_contain_text("did not list its models")
    expect(tab.page.locator("#offers[hx-get], #model-picker[hx-get]")).to_have_count(0)
    assert picker.evaluate("picker => picker.selectedOptions[0].text") == "two"
    upstream.models = [MODEL]
