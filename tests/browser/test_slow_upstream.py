"""An upstream that hangs when asked for its models: a page shows what it knows, and adds the rest
later."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import SitDown, Tab
from tests.support.fake_upstream import MODEL, FakeUpstream, Pause, Script, build_response
from tests.support.live import Server, Site, run

pytestmark = pytest.mark.thorough

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
def settings_of_server() -> str:
    return "chatapp.settings"


@pytest.fixture
def server(
    site: Site, upstream: FakeUpstream, slow: FakeUpstream, settings_of_server: str
) -> Iterator[Server]:
    own = site.server(
        OPENAI_BASE_URL=upstream.base_url,
        OPENAI_API_KEY="sk-very-secret",
        DJANGO_SETTINGS_MODULE=settings_of_server,
    )
    run(own.environment, "-c", ADD.format(url=slow.base_url))
    with own:
        yield own


@pytest.mark.parametrize("settings_of_server", ["tests.browser.patient"])
def test_a_slow_upstreams_models_are_added_while_the_page_is_used(
    sit_down: SitDown, server: Server, site: Site, slow: FakeUpstream
) -> None:
    pause = Pause()
    listed = build_response(200, {"data": [{"id": "late"}, {"id": "later"}]})
    slow.models_failure = Script((pause, *listed.steps), headers=listed.headers)
    desk = sit_down(site.person())
    desk.expect_error("htmx:error")  # if this takes so long that the page asks again
    with desk.context.expect_event(
        "response", lambda response: response.url == f"{desk.url}/"
    ) as page:
        tab = desk.open()
    # As it is asked: what its list would be waited for is not over.
    assert "Loading models from Slow &lt;b&gt;one&lt;/b&gt;…" in page.value.text()
    picker = tab.page.get_by_role("combobox", name="Model")
    expect(picker.locator("option")).to_have_text([MODEL])
    tab.ask("Hello?")
    tab.expect_ending("complete")
    # leaves the page that was waiting for the list
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.page.locator(".prompt")).to_have_count(0)
    pause.release()
    expect(picker.locator("option")).to_have_text([MODEL, "late", "later"])
    expect(tab.page.locator(".banner")).to_have_count(0)
    assert picker.evaluate("picker => picker.selectedOptions[0].text") == MODEL

    picker.select_option(label="later")
    remembered = desk.open()
    picker = remembered.page.get_by_role("combobox", name="Model")
    assert picker.evaluate("picker => picker.selectedOptions[0].text") == "later"


def with_stopgap(tab: Tab, model: str) -> Locator:
    """Return the picker; a page made before the quick upstream answered is reloaded."""
    picker = tab.page.get_by_role("combobox", name="Model")
    while picker.locator("option:checked").inner_text() != model:
        tab.page.reload()
    return picker


@pytest.mark.parametrize("settings_of_server", ["tests.browser.patient"])
def test_a_default_gives_way_to_the_first_upstreams_model_unless_picked(
    sit_down: SitDown, server: Server, site: Site, upstream: FakeUpstream, slow: FakeUpstream
) -> None:
    """The second upstream's model was shown for lack of another, and used to stay."""
    slow.models = ["quick", "quicker"]
    pause = Pause()
    listed = build_response(200, {"data": [{"id": MODEL}]})
    upstream.models_failure = Script((pause, *listed.steps), headers=listed.headers)
    try:
        desks = [sit_down(site.person()) for _ in range(2)]
        for desk in desks:
            desk.expect_error("htmx:error")  # as above
        pickers = [with_stopgap(desk.open(), "quick") for desk in desks]
        pickers[1].select_option(label="quicker")
        pause.release()
        for picker in pickers:
            expect(picker.locator("option")).to_have_text([MODEL, "quick", "quicker"])
        expect(pickers[0].locator("option:checked")).to_have_text(MODEL)
        expect(pickers[1].locator("option:checked")).to_have_text("quicker")
    finally:
        upstream.models_failure = None


def test_an_upstream_that_never_answers_is_reported_and_the_picked_model_stays(
    sit_down: SitDown, server: Server, site: Site, upstream: FakeUpstream, slow: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    slow.models_failure = Script((Pause(),))
    tab = sit_down(site.person()).open()
    picker = tab.page.get_by_role("combobox", name="Model")
    picker.select_option(label="two")
    late = tab.page.locator(".banner", has_text="Slow <b>one</b>")
    expect(late).to_contain_text("did not list its models")
    expect(tab.page.locator("#offers[hx-get], #model-picker[hx-get]")).to_have_count(0)
    assert picker.evaluate("picker => picker.selectedOptions[0].text") == "two"
    upstream.models = [MODEL]


def test_a_list_lost_in_transit_is_requested_again(
    sit_down: SitDown, server: Server, site: Site, slow: FakeUpstream
) -> None:
    slow.models_failure = Script((Pause(),))
    desk = sit_down(site.person())
    desk.expect_error("ERR_FAILED|htmx:error")
    desk.context.route("**/models/*", lambda route: route.abort(), times=2)
    tab = desk.open()
    late = tab.page.locator(".banner", has_text="Slow <b>one</b>")
    expect(late).to_contain_text("did not list its models")
