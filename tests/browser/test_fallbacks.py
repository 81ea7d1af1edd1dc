"""An administrator names a fallback, and it answers when the model fails."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown, confirmed
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Server, Site

BUSY = {"error": {"message": "busy"}}
CONNECT = """
from chatapp.models import Upstream
Upstream.objects.create(name="Spare", base_url="{url}", api_key="sk", offered_models="small")
"""


@pytest.fixture
def spare() -> Iterator[FakeUpstream]:
    with FakeUpstream() as spare:
        yield spare


@pytest.fixture
def offering(site: Site, spare: FakeUpstream) -> Iterator[tuple[Server, FakeUpstream]]:
    with FakeUpstream() as upstream:
        upstream.fail_models(200, {"data": [{"id": "large"}, {"id": "other"}]})
        with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="sk") as server:
            server.run(CONNECT.format(url=spare.base_url))
            yield server, upstream


def name_fallback(page: Page, url: str) -> None:
    """Name "small" of Spare as the fallback of "large", starting from the page of all models."""
    confirmed(page, f"{url}/settings/models/new/")
    page.goto(f"{url}/settings/models/")
    page.get_by_role("link", name="Default").first.click()
    page.get_by_role("link", name="Fallbacks of large").click()
    first = page.get_by_role("group", name="First fallback")
    first.get_by_label("Provider").select_option("Spare")
    first.get_by_label("Model").click()
    first.get_by_role("option", name="small").click()
    page.get_by_role("button", name="Save fallbacks").click()
    expect(page.get_by_text("large: small of Spare")).to_be_visible()


def test_a_fallback_answers_and_the_chat_keeps_its_model(
    site: Site,
    offering: tuple[Server, FakeUpstream],
    spare: FakeUpstream,
    sit_down: SitDown,
) -> None:
    server, upstream = offering
    desk = sit_down(site.olive, url=server.url)
    tab = desk.open()
    name_fallback(tab.page, server.url)
    tab.page.goto(server.url)
    tab.until_connected()
    upstream.fail(429, BUSY, {"retry-after": "30"})
    pause = Pause()
    spare.script(pause, role(), delta("Here it is."), finish(), done())
    tab.ask("Why?")
    waiting = tab.reply.get_by_text("large was rate-limited. Asking small…")
    expect(waiting).to_be_visible()
    expect(tab.reply.locator(".by")).to_have_text("small in place of large")
    pause.release()
    expect(tab.answer).to_have_text("Here it is.")
    tab.expect_ending("complete")
    expect(waiting).to_be_hidden()
    sentence = "Answered by small because large was rate-limited."
    expect(tab.reply.get_by_text(sentence)).to_be_visible()
    tab.reload()
    expect(tab.reply.get_by_text(sentence)).to_be_visible()
    chosen = tab.page.locator("#model option:checked")
    expect(chosen).to_have_text("large")
    tab.reply.get_by_label("About this reply").click()
    expect(tab.reply.get_by_text("large, error rate_limited with status 429")).to_be_visible()
    tab.ask("And now?")
    tab.expect_ending("complete")
    expect(tab.reply.locator(".by")).to_have_text("large")
