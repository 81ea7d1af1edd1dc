"""Names as long as allowed, of a single word, of markup and right to left: on a phone nothing is
wider than the page, and none of them takes effect."""

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown, Tab, open_confirmed
from tests.browser.test_tools_and_choices import call
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role, usage
from tests.support.live import Person, Server, Site

pytestmark = pytest.mark.thorough

MARKUP = "<img/src=x/onerror=alert(1)><b/hx-get='/'/hx-trigger=load>"
BACKWARDS = "\u202e\u05e9\u05dc\u05d5\u05dd"
LISTED = [
    {"id": "W" * 200, "name": "M" * 100},
    {"id": MARKUP * 3, "name": BACKWARDS + MARKUP},
    {"id": BACKWARDS * 30},
]
NAME = """
from django.contrib.auth.models import Group

from chatapp.models import (
    AccessRule, Conversation, Limit, ReviewLabel, Suggestion, ToolServer, Upstream, User)

markup, backwards = {markup!r}, {backwards!r}

def long(most):
    return ("W" * most, ((backwards + markup) * most)[:most])

person = User.objects.get(username={person!r})
for title in long(80):
    Conversation.objects.create(user=person, title=title)
for text in long(200):
    Suggestion.objects.create(text=text)
for name in long(100):
    Upstream.objects.create(
        name=name, base_url="http://127.0.0.1:1/" + "w" * 480, enabled=False,
        offered_models="m" * 400 + " = " + name * 2)
for name in ("w" * 150, "\\u05e9" * 150):
    User.objects.create_user(
        name, email="e" * 60 + "@" + "d" * 60 + ".example", password=None,
        first_name=markup, last_name="L" * 150)
User.objects.filter(pk=person.pk).update(username="W" * 150)
for name in long(150):
    group = Group.objects.create(name=name)
    group.user_set.add(person)
    Limit.objects.create(measure="tokens", cap=1, group=group, upstream=Upstream.objects.last())
    AccessRule.objects.restrict_to([group], upstream=Upstream.objects.last())
    ReviewLabel.objects.create(name=name[:30])
Upstream.objects.filter(from_environment=True).update(name="U" * 100)
ToolServer.objects.create(name="t" * 30, transport="stdio", command={command!r})
print(Conversation.objects.filter(user=person).first().pk)
"""
WIDER = """() => {
  const SCROLLS =
    "pre, .table, .table-scroll, .results, .module, .inline-group, .check, select, input";
  // A phone's innerWidth grows with content wider than the screen.
  const { clientWidth: room, scrollWidth } = document.documentElement;
  const wider = scrollWidth - room;
  const told = wider > 0 ? [`the page by ${wider} px`] : [];
  // Content with an ellipsis, or with its own scrolling, is meant to overflow.
  const isMeant = (element) => {
    for (let one = element; one && one !== document.body; one = one.parentElement) {
      const { overflowX, textOverflow } = getComputedStyle(one);
      const canScroll = overflowX === "auto" && one.matches(SCROLLS);
      if (textOverflow === "ellipsis" || canScroll) return true;
    }
    return false;
  };
  for (const one of document.body.querySelectorAll("*")) {
    const { left, right, width } = one.getBoundingClientRect();
    const isSeen = width && one.checkVisibility({ visibilityProperty: true });
    if (isSeen && (right > room + 1 || (left < -1 && right > 0)) && !isMeant(one)) {
      const { localName, id, className } = one;
      told.push(`${localName}#${id}.${className} ${Math.round(left)}-${Math.round(right)}`);
    }
  }
  return told;
}"""


@pytest.fixture(scope="module")
def gateway() -> Iterator[FakeUpstream]:
    with FakeUpstream() as gateway:
        gateway.fail_models(200, {"data": LISTED})
        yield gateway


@pytest.fixture(scope="module")
def named_server(site: Site, gateway: FakeUpstream) -> Iterator[tuple[Server, Person]]:
    """A server where every name that people can set is as bad as possible."""
    person = site.person()
    own = site.server(
        OPENAI_BASE_URL=gateway.base_url,
        OPENAI_API_KEY="sk-very-secret",
        DJANGO_SETTINGS_MODULE="tests.browser.patient",
    )
    with own as server:
        command = f"{sys.executable} -m tests.tools.server stdio"
        words = {"markup": MARKUP, "backwards": BACKWARDS, "command": command}
        server.run(NAME.format(person=person.username, **words))
        yield server, person


@pytest.fixture
def phone(sit_down: SitDown, named_server: tuple[Server, Person]) -> Tab:
    server, person = named_server
    tab = sit_down(person, url=server.url, phone={"width": 390, "height": 844}).open()
    tab.page.emulate_media(reduced_motion="reduce")
    return tab


def ask(tab: Tab, text: str) -> None:
    tab.message.fill(text)
    tab.send.click()


def expect_to_fit(page: Page) -> None:
    assert page.evaluate(WIDER) == []


def test_the_empty_page_the_sidebar_and_the_picker_fit(phone: Tab) -> None:
    page = phone.page
    expect(page.locator("[data-suggestion]")).to_have_count(2)
    expect_to_fit(page)
    page.get_by_role("combobox", name="Model").click()
    expect(page.get_by_role("dialog", name="Choose a model")).to_be_visible()
    expect_to_fit(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Conversations").click()
    expect_to_fit(page)
    page.get_by_role("button", name="Account").click()
    expect_to_fit(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Options for W").click()
    expect_to_fit(page)
    page.get_by_role("menuitem", name="Rename").click()
    expect_to_fit(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Options for W").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect_to_fit(page)


def test_a_conversation_and_its_tool_calls_fit(phone: Tab, gateway: FakeUpstream) -> None:
    page = phone.page
    gateway.script(*call("t" * 30 + "__echo", **{"W" * 300: "w" * 5000}))
    gateway.script(role(), delta("V" * 300 + f" {BACKWARDS * 60}"), finish(), usage(), done())
    ask(phone, "W" * 300 + MARKUP)
    page.get_by_role("button", name="Allow", exact=True).wait_for()
    expect_to_fit(page)
    page.get_by_role("button", name="Deny").click()
    phone.expect_ending("complete")
    page.evaluate("document.documentElement.dataset.figures = 'shown'")
    for summary in phone.reply.locator("summary:visible").all():
        summary.click()
        expect_to_fit(page)
    waiting = Pause()
    gateway.script(waiting, *call("X" * 200))
    gateway.script(role(), delta("So."), finish(), usage(), done())
    ask(phone, "Once more")
    expect(phone.reply.locator(".waiting")).to_contain_text("Waiting for")
    expect_to_fit(page)
    waiting.release()
    expect(phone.answer).to_have_text("So.")
    phone.expect_ending("complete")
    expect_to_fit(page)


NAMED = ("user", "upstream", "group", "limit", "conversation")
KEYS = """
from chatapp.models import Conversation, Limit, Upstream, User
print(User.objects.get(username="W" * 150).pk, Upstream.objects.get(name="W" * 100).pk,
      Limit.objects.get(group__name="W" * 150).group_id, Limit.objects.last().pk,
      Conversation.objects.order_by("updated_at").last().pk)
"""


def test_the_tools_of_a_server_fit(
    sit_down: SitDown, named_server: tuple[Server, Person], site: Site
) -> None:
    server, _person = named_server
    desk = sit_down(site.olive, url=server.url, phone={"width": 390, "height": 844})
    page = open_confirmed(desk.context.new_page(), f"{server.url}/settings/tools/1/")
    page.get_by_role("button", name="List its tools").click()
    expect(page.get_by_text("Offering these tools adds")).to_be_visible()
    expect_to_fit(page)


WIDEST_TABLE = 1500  # px, of all its columns; a wider table scrolls by itself
ROOMS = (
    *("people/", "people/{user}/", "people/{user}/delete/", "people/invitations/"),
    *("people/groups/", "people/groups/{group}/", "people/groups/{group}/delete/"),
    *("people/given/upstream/{upstream}/", "people/?group={group}", "settings/models/{upstream}/"),
    *("limits/", "limits/new/", "limits/{limit}/", "limits/me/", "usage/?by=group"),
    *("review/", "review/?group={group}", "review/labels/", "audit/", "privacy/"),
    *("settings/", "settings/models/", "settings/models/{upstream}/address/"),
    *("settings/models/{upstream}/delete/", "settings/tools/", "settings/tools/1/"),
    "review/{conversation}/",
)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_staff_pages_fit(
    sit_down: SitDown, named_server: tuple[Server, Person], site: Site, width: int
) -> None:
    server, _person = named_server
    keys = dict(zip(NAMED, server.run(KEYS).split(), strict=True))
    desk = sit_down(site.olive, url=server.url, phone={"width": width, "height": 844})
    page = open_confirmed(desk.context.new_page(), f"{server.url}/limits/new/")
    wider = {}
    for path in ROOMS:
        path = path.format(**keys)
        page.goto(f"{server.url}/{path}")
        assert page.url == f"{server.url}/{path}"
        if overflow := page.evaluate(WIDER):
            wider[path] = overflow[:6]
        wide = page.locator(".table").evaluate_all("all => all.map(one => one.scrollWidth)")
        assert [table_width for table_width in wide if table_width > WIDEST_TABLE] == [], path
    assert wider == {}
