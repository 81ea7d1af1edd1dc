"""Searching from the chat: by typing and keyboard, through to a message; and as a page."""

import re

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role, usage
from tests.support.live import Person, Server, Site

MAKE = """
from uuid import uuid4
from chatapp.models import Conversation, Upstream, User, index_some
from tests.support.stored import end, build_reply
user = User.objects.get(username={name!r})
for title, prompt, answer in {turns!r}:
    conversation = Conversation(user=user, title=title)
    prompt, reply = conversation.ask(uuid4(), prompt, None, Upstream.objects.first(), "m", uuid4())
    end(reply, build_reply(answer))
while index_some():
    pass
"""
# Four turns, with the word in both the prompt and the reply of each.
MAKE_LONG = """
from uuid import uuid4
from chatapp.models import Conversation, Upstream, User, index_some
from tests.support.stored import store_turn
conversation = Conversation(user=User.objects.get(username={name!r}), title="Long")
after = None
for number in range(4):
    prompt = f"Of the canary {{number}}"
    _, after = store_turn(conversation, Upstream.objects.first(), prompt, after)
while index_some():
    pass
"""
HOSTILE = '<img src=x onerror="document.title=1"> <b>canary</b> <mark>no</mark> &lt;i&gt; {{ 7*7 }}'
TURNS = [
    ("Birds", "Where do canaries live?", "On the Canary Islands, and nightingales do not."),
    ("Proxies", "Why a 504 of nginx?", "Raise proxy_read_timeout over 60 s."),
    ("東京 guide", "東京都に住む人は?", "約1400万人です。"),
    (HOSTILE[:60], "Of markup", HOSTILE),
]


class Palette:
    """The search dialog, from its user's point of view."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.dialog = page.get_by_role("dialog", name="Search")
        self.box = page.get_by_role("combobox", name="Search chats and commands")
        self.options = self.dialog.get_by_role("option")
        self.active = self.dialog.locator("[aria-selected=true]")

    def open(self) -> None:
        self.page.keyboard.press("Control+k")
        expect(self.box).to_be_focused()
        expect(self.active).to_have_count(1)

    def type(self, text: str) -> None:
        self.box.fill(text)
        self.until_shown(text)

    def until_shown(self, text: str) -> None:
        results = self.page.locator("#search-found")
        expect(results).to_have_attribute("data-query", text)


@pytest.fixture
def stored_chats(server: Server, alice: Person) -> None:
    """Store conversations of Alice's that can be found."""
    server.run(MAKE.format(name=alice.username, turns=TURNS))


@pytest.fixture
def palette(stored_chats: None, desk: Desk) -> Palette:
    return Palette(desk.open().page)


def test_typing_finds_and_enter_goes_to_the_message(palette: Palette) -> None:
    page = palette.page
    palette.open()
    palette.box.press_sequentially("nightin")
    palette.until_shown("nightin")
    expect(palette.options).to_have_text([re.compile("Birds"), re.compile("nightingales do not")])
    expect(palette.options.last.locator("mark")).to_have_text("nightin")
    expect(palette.active).to_contain_text("Birds")
    palette.box.press("ArrowDown")
    expect(palette.active).to_contain_text("nightingales")
    assert palette.box.get_attribute("aria-activedescendant") == palette.active.get_attribute("id")
    palette.box.press("Enter")
    expect(palette.dialog).to_be_hidden()
    expect(page.locator("#title")).to_have_text("Birds")
    reply = page.locator("article[data-reply]").get_attribute("data-reply")
    expect(page).to_have_url(re.compile(rf"/c/[0-9a-f-]+/\?at={reply}$"))
    expect(page.locator("#app")).to_have_attribute("data-connection", "open")
    page.go_back()
    expect(page.locator("#title")).to_have_text("New chat")


@pytest.mark.thorough
def test_enter_opens_the_search_page_if_the_script_cannot_be_loaded(
    desk: Desk, palette: Palette
) -> None:
    desk.expect_error("ERR_FAILED")
    palette.page.route("**/js/search/dialog.*.js", lambda route: route.abort())
    palette.page.keyboard.press("Control+k")
    palette.type("nightin")
    expect(palette.options).to_have_count(2)
    palette.box.press("Enter")
    expect(palette.page).to_have_url(re.compile(r"/search/\?q=nightin$"))
    expect(palette.page.get_by_role("heading", name="Search")).to_be_visible()


def test_passages_show_no_markup_and_have_their_matches_marked(
    palette: Palette,
) -> None:
    palette.open()
    palette.type("canary no")
    passage = palette.dialog.locator(".search-passage", has_text="7*7")
    expect(passage.locator(".search-text")).to_have_text("canary no <i> {{ 7*7 }}")
    expect(passage.locator("mark")).to_have_text(["canary", "no"])
    expect(palette.dialog.locator("img, b")).to_have_count(0)
    assert palette.page.title() != "1"


@pytest.mark.thorough
def test_commands_are_in_the_same_list_and_act_on_the_page(palette: Palette) -> None:
    page = palette.page
    palette.open()
    expect(palette.options.first).to_have_text("New chat")
    expect(palette.dialog.get_by_role("group", name="Recent")).to_be_visible()
    palette.type("dark")
    expect(palette.options).to_have_text(["Dark theme"])
    palette.box.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-scheme", "dark")
    palette.open()
    palette.type("keyboard")
    palette.box.press("Enter")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    palette.open()
    palette.type("help")
    palette.box.press("Enter")
    expect(page).to_have_url(re.compile("/help/$"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Archive", "Trash"])
def test_a_command_opens_a_list_in_a_folded_sidebar(palette: Palette, name: str) -> None:
    page = palette.page
    page.get_by_role("button", name="Hide the sidebar").click()
    palette.open()
    palette.type(name)
    expect(palette.options.first).to_have_text(name)
    palette.box.press("Enter")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.get_by_role("button", name="Hide the sidebar")).to_be_focused()


@pytest.mark.thorough
def test_the_sidebars_link_opens_the_dialog_and_escape_closes_it(palette: Palette) -> None:
    page = palette.page
    page.get_by_role("link", name="Search").click()
    expect(palette.box).to_be_focused()
    page.keyboard.press("Escape")
    expect(palette.dialog).to_be_hidden()
    page.keyboard.press("Meta+k")
    expect(palette.box).to_be_focused()
    page.keyboard.press("Meta+k")
    expect(palette.dialog).to_be_hidden()


@pytest.mark.thorough
def test_a_menu_inserts_filters(palette: Palette) -> None:
    palette.open()
    palette.type("canary")
    expect(palette.options.filter(has_text="You ·")).to_have_count(0)
    palette.box.fill("canar")
    palette.page.get_by_role("button", name="Filters").click()
    palette.page.get_by_role("menuitem", name="Your messages").click()
    expect(palette.box).to_have_value("canar from:me ")
    expect(palette.box).to_be_focused()
    palette.until_shown("canar from:me ")
    expect(palette.options).to_have_text([re.compile("Birds"), re.compile("Where do canaries")])
    palette.type("before:soon")
    expect(palette.dialog).to_contain_text("Use a date, for example before:")
    palette.type("zebra")
    expect(palette.dialog).to_contain_text("No results.")


def test_a_late_response_does_not_replace_a_newer_one(palette: Palette) -> None:
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route) if "q=nginx" in route.request.url else route.continue_()

    palette.open()
    palette.page.route("**/search/?*", hold)
    with palette.page.expect_request(re.compile("q=nginx")):
        palette.box.fill("nginx")
    palette.type("nightin")
    expect(palette.options.first).to_have_text("Birds")
    for route in routes:
        route.fulfill(status=200, body='<div id="search-found" data-query="nginx">late</div>')
    palette.type("nightingale")
    expect(palette.options.first).to_have_text("Birds")
    expect(palette.dialog).not_to_contain_text("late")


@pytest.mark.thorough
def test_enter_before_the_response_does_nothing(palette: Palette) -> None:
    palette.open()
    with palette.page.expect_response(re.compile("q=nightin")):
        palette.box.fill("nightin")
        palette.box.press("Enter")
        expect(palette.dialog).to_be_visible()
    palette.until_shown("nightin")
    palette.box.press("Enter")
    expect(palette.page.locator("#title")).to_have_text("Birds")


@pytest.mark.thorough
def test_a_new_message_is_found_within_a_moment(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("A kingfisher dives."), finish(), usage(), done())
    tab.ask("Which bird dives?")
    tab.expect_ending("complete")
    palette = Palette(tab.page)
    palette.open()
    palette.box.fill("kingfisher")
    passage = palette.dialog.locator(".search-passage")
    for _ in range(20):
        palette.until_shown("kingfisher")
        if passage.count():
            break
        tab.page.evaluate("htmx.trigger('#search input', 'look')")
        tab.page.wait_for_timeout(250)
    expect(passage.locator("mark")).to_have_text("kingfisher")


@pytest.mark.thorough
def test_the_dialog_fills_the_screen_of_a_phone(
    stored_chats: None, sit_down: SitDown, alice: Person
) -> None:
    desk = sit_down(alice, phone={"width": 390, "height": 844})
    page = desk.open().page
    page.get_by_role("button", name="Conversations").click()
    page.get_by_role("link", name="Search").tap()
    palette = Palette(page)
    palette.type("nightin")
    box = palette.dialog.bounding_box()
    assert box
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 390, 844)
    palette.options.last.tap()
    expect(page.locator("#title")).to_have_text("Birds")
    expect(page.locator("#sidebar")).to_be_hidden()


@pytest.mark.thorough
def test_the_dialog_is_accessible_with_and_without_results(palette: Palette) -> None:
    palette.open()
    expect_accessible(palette.page)
    palette.type("canary")
    expect_accessible(palette.page)
    palette.type("zebra")
    expect_accessible(palette.page)


@pytest.mark.thorough
def test_the_search_page_works_without_scripts(
    stored_chats: None, server: Server, desk: Desk, alice: Person
) -> None:
    page = desk.context.new_page()
    for path in ("/search/", "/search/?q=canar", "/search/?q=zebra", "/search/?q=from:bob"):
        page.goto(server.url + path)
        expect_accessible(page)
    with server.visit(alice) as browser:
        response = browser.get("/search/", params={"q": "nightingales"})
        [address] = re.findall(r'href="(/c/[^"]+\?at=[^"]+)"', response.text)
        assert browser.get(address).status_code == httpx.codes.OK


@pytest.mark.thorough
def test_all_passages_of_a_conversation_replace_the_list(
    server: Server, site: Site, sit_down: SitDown
) -> None:
    person = site.person()
    server.run(MAKE_LONG.format(name=person.username))
    palette = Palette(sit_down(person).open().page)
    palette.open()
    palette.type("canary")
    passages = palette.dialog.locator(".search-passage")
    expect(passages).to_have_count(3)
    expect(palette.options.last).to_have_text(re.compile("5 more passages in this chat"))
    for _ in range(9):
        palette.box.press("ArrowDown")
    palette.box.press("Enter")
    expect(passages).to_have_count(8)
    expect(palette.box).to_be_focused()
    expect(palette.active).to_have_count(1)
    expect_accessible(palette.page)
    palette.page.goto(f"{server.url}/search/?q=canary")
    palette.page.get_by_role("link", name="5 more passages in this chat").click()
    expect(palette.page.locator(".search-passage")).to_have_count(8)
    palette.page.get_by_role("link", name="Search all chats").click()
    expect(palette.page.locator(".search-passage")).to_have_count(3)


@pytest.mark.thorough
def test_older_results_are_on_further_pages(server: Server, site: Site, sit_down: SitDown) -> None:
    person = site.person()
    turns = [(f"Chat {number}", "Of the canary", "It sings.") for number in range(20)]
    server.run(MAKE.format(name=person.username, turns=turns))
    page = sit_down(person).context.new_page()
    page.goto(f"{server.url}/search/?q=canary")
    expect(page.locator(".search-conversation")).to_have_count(16)
    page.get_by_role("link", name="Older results").click()
    expect(page.locator(".search-conversation")).to_have_count(4)
    expect(page.get_by_role("link", name="Older results")).to_have_count(0)
