"""An administrator names a fallback, and it answers when the model fails."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SMALL, SitDown, open_confirmed
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Server, Site

BUSY = {"error": {"message": "busy"}}
CONNECT = """
from chatapp.models import Upstream
Upstream.objects.create(name="Spare", base_url="{url}", api_key="sk", offered_models="small")
"""
DISCONNECT = """
from chatapp.models import Upstream
Upstream.objects.filter(name="Spare").delete()
"""


@pytest.fixture
def spare(offering: Server) -> Iterator[FakeUpstream]:
    with FakeUpstream() as spare:
        offering.run(CONNECT.format(url=spare.base_url))
        yield spare
        offering.run(DISCONNECT)


def name_fallback(page: Page, url: str) -> None:
    """Name "small" of Spare as the fallback of "alpha", starting from the page of all models."""
    open_confirmed(page, f"{url}/settings/models/new/")
    page.goto(f"{url}/settings/models/")
    page.get_by_role("link", name="Default").first.click()
    page.get_by_role("link", name=f"Fallbacks of {SMALL}").click()
    first = page.get_by_role("group", name="First fallback")
    first.get_by_label("Provider").select_option("Spare")
    first.get_by_label("Model").click()
    first.get_by_role("option", name="small").click()
    page.get_by_role("button", name="Save fallbacks").click()
    expect(page.get_by_text(f"{SMALL}: small of Spare")).to_be_visible()


def test_a_fallback_answers_and_the_chat_keeps_its_model(
    site: Site,
    offering: Server,
    gateway: FakeUpstream,
    spare: FakeUpstream,
    sit_down: SitDown,
) -> None:
    desk = sit_down(site.olive, url=offering.url)
    tab = desk.open()
    name_fallback(tab.page, offering.url)
    tab.page.goto(offering.url)
    tab.until_connected()
    gateway.fail(429, BUSY, {"retry-after": "30"})
    pause = Pause()
    spare.script(pause, role(), delta("Here it is."), finish(), done())
    tab.ask("Why?")
    waiting = tab.reply.get_by_text(f"{SMALL} was rate-limited. Asking small…")
    expect(waiting).to_be_visible()
    expect(tab.reply.locator(".by")).to_have_text(f"small in place of {SMALL}")
    pause.release()
    expect(tab.answer).to_have_text("Here it is.")
    tab.expect_ending("complete")
    expect(waiting).to_be_hidden()
    sentence = f"Answered by small because {SMALL} was rate-limited."
    expect(tab.reply.get_by_text(sentence)).to_be_visible()
    tab.reload()
    expect(tab.reply.get_by_text(sentence)).to_be_visible()
    chosen = tab.page.locator("#model option:checked")
    expect(chosen).to_have_text(SMALL)
    tab.reply.get_by_label("About this reply").click()
    expect(tab.reply.get_by_text(f"{SMALL}, error rate_limited with status 429")).to_be_visible()
    tab.ask("And now?")
    tab.expect_ending("complete")
    expect(tab.reply.locator(".by")).to_have_text(SMALL)
