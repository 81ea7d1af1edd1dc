"""Several models at once: side by side on a desktop, behind tabs on a phone."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.live import Person, Server

NAMES = ("alpha", "beta", "gamma", "delta")
PHONE = {"width": 390, "height": 780}


@pytest.fixture
def upstream(gateway: FakeUpstream) -> FakeUpstream:
    return gateway


@pytest.fixture
def desk(sit_down: SitDown, alice: Person, offering: Server) -> Desk:
    return sit_down(alice, url=offering.url, viewport={"width": 1280, "height": 800})


@pytest.fixture
def phone(sit_down: SitDown, alice: Person, offering: Server) -> Tab:
    return sit_down(alice, url=offering.url, phone=PHONE).open()


def add(tab: Tab, name: str) -> None:
    tab.page.get_by_role("combobox", name="Model").click()
    tab.page.get_by_role("button", name="Compare several models").click()
    sheet = tab.page.get_by_role("dialog", name="Choose a model")
    sheet.get_by_role("option", name=name).click()
    expect(chips(tab).filter(has_text=name)).to_be_visible()
    sheet.get_by_role("button", name="Done").click()


def chips(tab: Tab) -> Locator:
    return tab.page.get_by_role("group", name="Other models that also answer").get_by_role(
        "listitem"
    )


def columns(tab: Tab) -> Locator:
    return tab.page.locator(".beside-reply")


def replies(tab: Tab) -> Locator:
    return columns(tab).locator("article[data-reply]")


def expect_endings(tab: Tab, *endings: str) -> None:
    expect(replies(tab)).to_have_count(len(endings))
    for number, ending in enumerate(endings):
        expect(replies(tab).nth(number)).to_have_attribute("data-ending", ending)


def column_button(tab: Tab, number: int, name: str) -> Locator:
    return columns(tab).nth(number).get_by_role("button", name=name)


def talk(
    tab: Tab,
    upstream: FakeUpstream,
    names: tuple[str, ...] = NAMES[1:],
    *,
    is_added: bool = False,
) -> None:
    """Send one prompt to several models, which all answer with the same words."""
    for _ in range(len(names) + 1):
        upstream.script(role(), delta("So it is."), finish(), done())
    for name in () if is_added else names:
        add(tab, name)
    tab.message.fill("Why?")
    tab.send.click()
    expect_endings(tab, *["complete"] * (len(names) + 1))


def give_own_temperature(tab: Tab, name: str, temperature: str) -> None:
    """Add a model that has another temperature than 0.2, which the other models have."""
    tab.page.get_by_role("button", name="Chat settings").click()
    panel = tab.page.get_by_role("complementary", name="Chat settings")
    panel.get_by_label("System prompt").fill("Rhyme.")
    panel.get_by_label("Temperature").fill("0.2")
    chosen = panel.get_by_label("Settings for")
    expect(chosen).to_be_hidden()
    add(tab, name)
    expect(chosen).to_be_visible()
    chosen.focus()
    chosen.select_option(name)
    expect(panel).to_contain_text("change here is the same as for all models.")
    expect(chosen).to_be_focused()
    expect_accessible(tab.page)
    expect(panel.get_by_label("System prompt")).to_have_value("Rhyme.")
    panel.get_by_label("Temperature").fill(temperature)


def expect_temperatures(tab: Tab, upstream: FakeUpstream, **temperatures: float) -> None:
    """Check what these models were just sent, and what the page says that they will be sent."""
    bodies = {
        sent_request.body["model"]: sent_request.body for sent_request in upstream.chat_requests
    }
    assert {name: body["temperature"] for name, body in bodies.items()} == temperatures
    assert all(body["messages"][0]["content"] == "Rhyme." for body in bodies.values())
    tab.page.get_by_role("button", name="Show request").click()
    dialog = tab.page.get_by_role("dialog", name="Request")
    for name, temperature in temperatures.items():
        request = dialog.get_by_role("region", name=f"Request to {name} as JSON")
        expect(request).to_contain_text(f'"temperature": {temperature}')
    expect_accessible(tab.page)
    tab.page.keyboard.press("Escape")


def test_four_models_are_added_and_answer_side_by_side(desk: Desk, upstream: FakeUpstream) -> None:
    tab = desk.open()
    talk(tab, upstream)
    expect(columns(tab)).to_have_count(4)
    expect(replies(tab).locator(".by")).to_have_text(list(NAMES))
    boxes = [columns(tab).nth(number).bounding_box() for number in range(4)]
    assert len({box["y"] for box in boxes if box}) == 1
    assert len({box["x"] for box in boxes if box}) == 4
    models = [request.body["model"] for request in upstream.chat_requests]
    assert sorted(models) == sorted(NAMES)
    expect(tab.page.locator("#model-count")).to_have_text("+ 3 more")
    tab.reload()
    expect_endings(tab, *["complete"] * 4)
    expect(replies(tab).locator(".by")).to_have_text(list(NAMES))
    expect(tab.page.locator("#model-count")).to_have_text("")


@pytest.mark.thorough
def test_at_most_four_models_are_added_and_each_can_be_removed(desk: Desk) -> None:
    tab = desk.open()
    for name in NAMES[1:]:
        add(tab, name)
    tab.page.get_by_role("button", name="Remove gamma").click()
    expect(chips(tab)).to_have_text([re.compile("beta"), re.compile("delta")])
    expect(tab.message).to_be_focused()
    tab.page.get_by_role("combobox", name="Model").click()
    tab.page.get_by_role("button", name="Compare several models").click()
    sheet = tab.page.get_by_role("dialog", name="Choose a model")
    options = sheet.get_by_role("option")
    names = ("alpha", "beta", "delta", "gamma", "epsilon")  # those chosen on top
    expect(options).to_have_text([re.compile(f"^{name}") for name in names])
    options.nth(3).click()
    expect(sheet.get_by_role("option", selected=True)).to_have_count(4)
    options.nth(0).click()  # the selected model
    expect(tab.page.locator("#model option:checked")).to_have_text("beta")
    sheet.get_by_role("button", name="Done").click()
    expect(chips(tab)).to_have_count(2)


def test_each_reply_can_be_stopped_alone_or_all_together(
    desk: Desk, upstream: FakeUpstream
) -> None:
    tab = desk.open()
    for _ in range(3):
        upstream.script(role(), delta("Half"), Stall())
    add(tab, "beta")
    add(tab, "gamma")
    tab.ask("Why?")
    for number in range(3):
        expect(replies(tab).nth(number)).to_contain_text("Half")
    expect(column_button(tab, 0, "Continue with this reply")).to_be_hidden()
    column_button(tab, 1, "Stop this reply").click()
    expect_endings(tab, "streaming", "stopped", "streaming")
    expect(column_button(tab, 1, "Stop this reply")).to_be_hidden()
    expect(column_button(tab, 1, "Continue with this reply")).to_be_hidden()
    tab.page.get_by_role("button", name="Stop", exact=True).click()
    expect_endings(tab, *["stopped"] * 3)
    expect(tab.message).to_be_focused()
    expect(column_button(tab, 1, "Continue with this reply")).to_be_visible()


@pytest.mark.thorough
def test_every_reply_continues_after_a_reload(desk: Desk, upstream: FakeUpstream) -> None:
    tab = desk.open()
    pause = Pause()
    for _ in range(2):
        upstream.script(role(), delta("Half"), pause, delta(" more"), finish(), done())
    add(tab, "beta")
    tab.ask("Why?")
    for number in range(2):
        expect(replies(tab).nth(number)).to_contain_text("Half")
    tab.reload()
    expect_endings(tab, "streaming", "streaming")
    pause.release()
    expect_endings(tab, "complete", "complete")
    for number in range(2):
        expect(replies(tab).nth(number).locator("[data-region=answer]")).to_have_text("Half more")


def expect_next_is_only(tab: Tab, name: str) -> None:
    """Check that the next prompt asks this model alone, and that the header says so."""
    expect(tab.page.locator("#model option:checked")).to_have_text(name)
    expect(tab.page.locator("#model-count")).to_have_text("")
    expect(chips(tab)).to_have_count(0)


@pytest.mark.thorough
def test_the_choice_of_a_reply_is_kept_by_a_reload(desk: Desk, upstream: FakeUpstream) -> None:
    tab = desk.open()
    talk(tab, upstream, ("beta",))
    tab.reload()
    expect_next_is_only(tab, "alpha")
    column_button(tab, 1, "Continue with this reply").click()
    expect_next_is_only(tab, "beta")
    expect(columns(tab)).to_have_count(0)
    chosen = tab.reply.get_attribute("data-reply")
    tab.reload()
    expect(tab.reply).to_have_attribute("data-reply", str(chosen))
    expect_next_is_only(tab, "beta")
    tab.ask("And then?")
    tab.expect_ending("complete")
    assert upstream.chat_requests[-1].body["model"] == "beta"


def test_continuing_with_one_reply_goes_on_with_its_model_alone(
    desk: Desk, upstream: FakeUpstream
) -> None:
    tab = desk.open()
    give_own_temperature(tab, "beta", "0.9")
    talk(tab, upstream, ("beta",), is_added=True)
    expect_temperatures(tab, upstream, alpha=0.2, beta=0.9)
    chosen = replies(tab).nth(1).get_attribute("data-reply")
    column_button(tab, 1, "Continue with this reply").click()
    expect(columns(tab)).to_have_count(0)
    expect(tab.reply).to_have_attribute("data-reply", str(chosen))
    expect(tab.reply).to_contain_text("2 / 2")
    expect(tab.message).to_be_focused()
    expect_next_is_only(tab, "beta")
    upstream.script(role(), delta("So it is."), finish(), done())
    tab.ask("And then?")
    tab.expect_ending("complete")
    body = upstream.chat_requests[-1].body
    assert (body["model"], body["temperature"]) == ("beta", 0.9)
    expect(columns(tab)).to_have_count(0)
    expect(tab.page.locator("#messages > article")).to_have_count(2)
    expect(tab.page.locator("#messages > article").first).to_have_attribute(
        "data-reply", str(chosen)
    )


@pytest.mark.thorough
def test_the_next_prompt_follows_the_first_reply(desk: Desk, upstream: FakeUpstream) -> None:
    tab = desk.open()
    talk(tab, upstream, ("beta",))
    first = replies(tab).first.get_attribute("data-reply")
    tab.page.get_by_role("button", name="Remove beta").click()
    tab.ask("And then?")
    tab.expect_ending("complete")
    expect(columns(tab)).to_have_count(0)
    expect(tab.page.locator("#messages > article").first).to_have_attribute(
        "data-reply", str(first)
    )
    expect(tab.page.locator("#messages > article").first).to_contain_text("1 / 2")


@pytest.mark.thorough
def test_each_reply_has_a_tab_on_a_phone(phone: Tab, upstream: FakeUpstream) -> None:
    talk(phone, upstream, ("beta",))
    tabs = phone.page.get_by_role("radiogroup", name="Shown reply")
    expect(columns(phone).nth(0)).to_be_visible()
    expect(columns(phone).nth(1)).to_be_hidden()
    tabs.get_by_text("beta").tap()
    expect(columns(phone).nth(0)).to_be_hidden()
    expect(columns(phone).nth(1)).to_be_visible()
    width = "document.documentElement.scrollWidth"
    assert phone.page.evaluate(width) == PHONE["width"]
    column_button(phone, 1, "Continue with this reply").tap()
    expect(columns(phone)).to_have_count(0)
    expect(phone.reply).to_contain_text("2 / 2")


@pytest.mark.thorough
def test_the_tabs_are_switched_by_keyboard(sit_down: SitDown, alice: Person, offering: Server,
                                           upstream: FakeUpstream) -> None:  # fmt: skip
    tab = sit_down(alice, url=offering.url, viewport={"width": 600, "height": 800}).open()
    talk(tab, upstream, ("beta",))
    tab.page.get_by_role("radio", name="alpha").focus()
    tab.page.keyboard.press("ArrowRight")
    expect(columns(tab).nth(1)).to_be_visible()
    expect(columns(tab).nth(0)).to_be_hidden()


def rate(tab: Tab, number: int, rating: str, question: str, note: str) -> None:
    """Rate one of the replies and save a note about it."""
    column_button(tab, number, rating).click()
    columns(tab).nth(number).get_by_role("textbox", name=question).fill(note)
    column_button(tab, number, "Save").click()
    expect_rated(tab, number, rating)


def expect_rated(tab: Tab, number: int, rating: str) -> None:
    expect(column_button(tab, number, rating)).to_have_attribute("aria-pressed", "true")
    expect(columns(tab).nth(number).locator(".note[open]")).to_have_count(0)


def test_each_reply_is_rated_in_its_column(desk: Desk, upstream: FakeUpstream) -> None:
    tab = desk.open()
    talk(tab, upstream)
    for number in range(4):
        row = columns(tab).nth(number).locator(".reply-meta")
        expect(row).to_have_css("opacity", "1")  # as below a single reply, without hovering over it
    buttons = [column_button(tab, n, "Continue with this reply").bounding_box() for n in range(4)]
    assert len({box["y"] for box in buttons if box}) == 1
    rate(tab, 1, "Bad reply", "What was wrong?", "Not so.")
    rate(tab, 3, "Good reply", "What was good?", "Just so.")
    expect_accessible(tab.page)
    tab.reload()
    for number, rating in ((1, "Bad reply"), (3, "Good reply")):
        expect_rated(tab, number, rating)
    for number in (0, 2):
        expect(columns(tab).nth(number).locator(".note")).to_have_count(0)
    columns(tab).nth(1).locator(".note summary").click()
    note = columns(tab).nth(1).get_by_role("textbox", name="What was wrong?")
    expect(note).to_have_value("Not so.")
    column_button(tab, 1, "Continue with this reply").click()
    expect(tab.reply.get_by_role("button", name="Bad reply")).to_have_attribute(
        "aria-pressed", "true"
    )


@pytest.mark.thorough
def test_each_reply_is_rated_on_its_tab_on_a_phone(phone: Tab, upstream: FakeUpstream) -> None:
    talk(phone, upstream, ("beta",))
    rate(phone, 0, "Good reply", "What was good?", "Just so.")
    tabs = phone.page.get_by_role("radiogroup", name="Shown reply")
    tabs.get_by_text("beta").tap()
    rate(phone, 1, "Bad reply", "What was wrong?", "Not so.")
    phone.reload()
    expect_rated(phone, 0, "Good reply")
    tabs.get_by_text("beta").tap()
    expect_rated(phone, 1, "Bad reply")
