"""A conversation titled by a model, as all open tabs show it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Desk, Tab
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Server

SET = """
from chatapp.models import Installation, Upstream
Installation.objects.all().delete()
upstream = Upstream.objects.get(from_environment=True, enabled=True)
Installation(pk=1, title_upstream=upstream, title_model="small").save()
"""
UNSET = """
from chatapp.models import Installation
Installation.objects.all().delete()
"""


@pytest.fixture
def title_model(server: Server) -> Iterator[None]:
    """A server whose administrator has chosen a model for titles."""
    server.run(SET)
    yield
    server.run(UNSET)


def test_the_title_replaces_the_first_words_in_every_tab(
    desk: Desk, title_model: None, upstream: FakeUpstream
) -> None:
    tab = desk.open()
    pause = Pause()
    upstream.script(role(), delta("Scattering."), finish(), done())
    upstream.script(role(), pause, delta('"<b>Blue</b> skies"'), finish(), done())
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    beside = desk.open()
    for each_tab in (tab, beside):
        expect(each_tab.sidebar.get_by_role("link", name="Why is the sky blue?")).to_be_visible()
    expect(tab.page).to_have_title("Why is the sky blue? · chatapp")
    place = tab.message.bounding_box()
    tab.message.fill("And at ni")
    pause.release()
    for each_tab in (tab, beside):
        expect(each_tab.sidebar.get_by_role("link", name="<b>Blue</b> skies")).to_be_visible()
        expect(each_tab.sidebar.get_by_role("link")).to_have_count(1)
    expect(tab.page).to_have_title("<b>Blue</b> skies · chatapp")
    expect(tab.page.locator("#title")).to_have_text("<b>Blue</b> skies")
    expect(tab.message).to_have_value("And at ni")
    expect(tab.message).to_be_focused()
    assert tab.message.bounding_box() == place


@pytest.mark.thorough
def test_a_failing_title_request_shows_nothing(
    desk: Desk, title_model: None, upstream: FakeUpstream
) -> None:
    tab: Tab = desk.open()
    upstream.script(role(), delta("Scattering."), finish(), done())
    upstream.fail(500, {"error": {"message": "no titles today"}})
    tab.ask("Why is the sky blue?")
    tab.expect_ending("complete")
    for _ in range(2):  # the reply's and the title's
        upstream.wait_for_request()
    upstream.script(role(), delta("The stars."), finish(), done())
    tab.ask("And at night?")
    expect(tab.answer).to_have_text("The stars.")
    expect(tab.page.get_by_text("no titles today")).to_have_count(0)
    expect(tab.page).to_have_title("Why is the sky blue? · chatapp")
