"""A reply that ends in a hidden tab: the title is marked, with a notification if wanted."""

from urllib.parse import urljoin

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_connection import set_visibility
from tests.browser.test_keeping import post, read_path
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Person

TITLE = "Why is the sky blue?"
SECRET = "Scattering, between us."

# Chromium without a screen shows no notifications, and may report them as denied, so this records
# them.
WRITE_DOWN = """
window.told = [];
window.focused = 0;
window.focus = () => { window.focused += 1; };
const Real = window.Notification;
window.Notification = class extends Real {
  static permission = "granted";
  constructor(title, options) {
    super(title, options);
    this.isOpen = true;
    window.told.push({ title, ...options, notification: this });
  }
  close() {
    super.close();
    this.isOpen = false;
  }
};
"""

FORBID = """
window.asked = 0;
Notification.requestPermission = async () => {
  window.asked += 1;
  return "denied";
};
"""


def preferences(tab: Tab) -> Page:
    page = tab.page.context.new_page()
    page.goto(urljoin(tab.page.url, "/preferences/"))
    return page


def notifying(page: Page, choice: str) -> Locator:
    group = page.get_by_role("group", name="Notify me when a reply finishes")
    return group.get_by_role("radio", name=choice)


def enable_notifications(tab: Tab) -> None:
    page = preferences(tab)
    notifying(page, "Yes").check()
    page.close()


def ask_and_look_away(tab: Tab, upstream: FakeUpstream) -> None:
    """Have a reply end while the tab is hidden."""
    pause = Pause()
    upstream.script(role(), delta(SECRET), pause, finish(), done())
    tab.ask(TITLE)
    expect(tab.answer).to_contain_text(SECRET)
    set_visibility(tab, "hidden")
    pause.release()
    tab.expect_ending("complete")


def read_notifications(tab: Tab) -> list[dict[str, object]]:
    script = (
        "told.map(({ title, body, notification }) => ({ title, body, open: notification.isOpen }))"
    )
    notifications: list[dict[str, object]] = tab.page.evaluate(script)
    return notifications


def until_told(tab: Tab) -> None:
    # A function, since an expression would be evaluated each time, which the page's CSP forbids.
    tab.page.wait_for_function("() => told.length")


@pytest.fixture
def notification_tab(desk: Desk) -> Tab:
    """Alice's tab on a new chat, in a browser that allows notifications."""
    desk.context.grant_permissions(["notifications"], origin=desk.url)
    desk.context.add_init_script(WRITE_DOWN)
    return desk.open()


def test_the_title_is_marked_until_the_tab_is_visible(tab: Tab, upstream: FakeUpstream) -> None:
    ask_and_look_away(tab, upstream)
    expect(tab.page).to_have_title(f"● {TITLE} · chatapp")
    set_visibility(tab, "visible")
    expect(tab.page).to_have_title(f"{TITLE} · chatapp")


@pytest.mark.thorough
def test_the_title_is_marked_even_if_the_script_loads_after_the_end(
    desk: Desk, upstream: FakeUpstream
) -> None:
    routes: list[Route] = []
    desk.context.route("**/thread/while-streaming.*.js", lambda route: routes.append(route))
    tab = desk.open()
    ask_and_look_away(tab, upstream)
    routes[0].continue_()
    expect(tab.page).to_have_title(f"● {TITLE} · chatapp")


@pytest.mark.thorough
def test_a_new_title_keeps_the_mark(tab: Tab, upstream: FakeUpstream) -> None:
    ask_and_look_away(tab, upstream)
    post(tab.page, f"/c/{read_path(tab)}rename/", title="Skies")
    expect(tab.page).to_have_title("● Skies · chatapp")


@pytest.mark.thorough
def test_a_reply_that_ends_in_a_visible_tab_marks_nothing(
    notification_tab: Tab, upstream: FakeUpstream
) -> None:
    enable_notifications(notification_tab)
    upstream.script(role(), delta(SECRET), finish(), done())
    notification_tab.ask(TITLE)
    notification_tab.expect_ending("complete")
    expect(notification_tab.page).to_have_title(f"{TITLE} · chatapp")
    assert read_notifications(notification_tab) == []


@pytest.mark.thorough
def test_a_notification_names_the_conversation_and_contains_none_of_its_text(
    notification_tab: Tab, upstream: FakeUpstream
) -> None:
    enable_notifications(notification_tab)
    ask_and_look_away(notification_tab, upstream)
    until_told(notification_tab)
    assert read_notifications(notification_tab) == [
        {"title": TITLE, "body": "Reply finished.", "open": True}
    ]
    notification_tab.page.evaluate("told[0].notification.onclick()")
    assert notification_tab.page.evaluate("focused") == 1
    assert not read_notifications(notification_tab)[0]["open"]


@pytest.mark.thorough
def test_a_notification_closes_when_the_tab_is_visible(
    notification_tab: Tab, upstream: FakeUpstream
) -> None:
    enable_notifications(notification_tab)
    ask_and_look_away(notification_tab, upstream)
    until_told(notification_tab)
    set_visibility(notification_tab, "visible")
    assert [notification["open"] for notification in read_notifications(notification_tab)] == [
        False
    ]


@pytest.mark.thorough
def test_one_ending_makes_one_notification_however_late_the_script_loads(
    notification_tab: Tab, desk: Desk, upstream: FakeUpstream
) -> None:
    routes: list[Route] = []
    desk.context.route("**/thread/while-streaming.*.js", lambda route: routes.append(route))
    enable_notifications(notification_tab)
    first, last = Pause(), Pause()
    upstream.script(role(), delta("One."), first, delta(" Two."), last, finish(), done())
    notification_tab.ask(TITLE)
    expect(notification_tab.answer).to_contain_text("One.")
    first.release()
    expect(notification_tab.answer).to_contain_text("Two.")
    set_visibility(notification_tab, "hidden")
    last.release()
    notification_tab.expect_ending("complete")
    routes[0].continue_()
    until_told(notification_tab)
    assert len(read_notifications(notification_tab)) == 1


@pytest.mark.thorough
def test_without_the_setting_there_is_no_notification(
    notification_tab: Tab, upstream: FakeUpstream
) -> None:
    ask_and_look_away(notification_tab, upstream)
    expect(notification_tab.page).to_have_title(f"● {TITLE} · chatapp")
    assert read_notifications(notification_tab) == []


@pytest.mark.thorough
def test_a_browser_that_denies_notifications_is_reported(sit_down: SitDown, alice: Person) -> None:
    desk = sit_down(alice)
    desk.context.add_init_script(FORBID)
    tab = desk.open()
    assert tab.page.evaluate("asked") == 0
    page = preferences(tab)
    notifying(page, "Yes").click()
    expect(page.get_by_role("alert").filter(has_text="blocks notifications")).to_be_visible()
    expect(notifying(page, "No")).to_be_checked()
    assert page.evaluate("[asked, localStorage.getItem('notify')]") == [1, None]
    expect_accessible(page)
