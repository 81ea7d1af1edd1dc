"""A reply that ends in a tab that nobody sees: the title is marked, and who wants it notified."""

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_connection import see
from tests.browser.test_keeping import path_of, post
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Person

TITLE = "Why is the sky blue?"
SECRET = "Scattering, between us."

# Chromium without a screen shows no notification, and may say that it is not to: what is told is
# written down beside.
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


def notifying(tab: Tab, choice: str) -> Locator:
    group = tab.page.get_by_role("group", name="Notify of replies that end unseen")
    return group.get_by_role("radio", name=choice)


def choose(tab: Tab, choice: str) -> None:
    tab.page.get_by_role("button", name="Account").click()
    notifying(tab, choice).click(force=True)


def want_it(tab: Tab) -> None:
    choose(tab, "Yes")
    expect(notifying(tab, "Yes")).to_be_checked()
    tab.page.keyboard.press("Escape")


def ask_and_look_away(tab: Tab, upstream: FakeUpstream) -> None:
    """The reply ends while nobody looks."""
    pause = Pause()
    upstream.script(role(), delta(SECRET), pause, finish(), done())
    tab.ask(TITLE)
    expect(tab.answer).to_contain_text(SECRET)
    see(tab, "hidden")
    pause.release()
    tab.expect_ending("complete")


def told(tab: Tab) -> list[dict[str, object]]:
    script = (
        "told.map(({ title, body, notification }) => ({ title, body, open: notification.isOpen }))"
    )
    found: list[dict[str, object]] = tab.page.evaluate(script)
    return found


def until_told(tab: Tab) -> None:
    # A function: a mere expression is evaluated at each look, which the page's policy forbids.
    tab.page.wait_for_function("() => told.length")


@pytest.fixture
def allowed(desk: Desk) -> Tab:
    """Alice's, on a new chat, in a browser that lets the site notify her."""
    desk.context.grant_permissions(["notifications"], origin=desk.url)
    desk.context.add_init_script(WRITE_DOWN)
    return desk.open()


def test_the_title_is_marked_until_somebody_looks(tab: Tab, upstream: FakeUpstream) -> None:
    ask_and_look_away(tab, upstream)
    expect(tab.page).to_have_title(f"● {TITLE} · chatapp")
    see(tab, "visible")
    expect(tab.page).to_have_title(f"{TITLE} · chatapp")


@pytest.mark.thorough
def test_it_is_marked_too_where_its_script_comes_after_the_end(
    desk: Desk, upstream: FakeUpstream
) -> None:
    held: list[Route] = []
    desk.context.route("**/while-streaming*.js", lambda route: held.append(route))
    tab = desk.open()
    ask_and_look_away(tab, upstream)
    held[0].continue_()
    expect(tab.page).to_have_title(f"● {TITLE} · chatapp")


@pytest.mark.thorough
def test_a_new_title_keeps_the_mark(tab: Tab, upstream: FakeUpstream) -> None:
    ask_and_look_away(tab, upstream)
    post(tab.page, f"/c/{path_of(tab)}rename/", title="Skies")
    expect(tab.page).to_have_title("● Skies · chatapp")


@pytest.mark.thorough
def test_a_reply_that_ends_under_ones_eyes_marks_nothing(
    allowed: Tab, upstream: FakeUpstream
) -> None:
    want_it(allowed)
    upstream.script(role(), delta(SECRET), finish(), done())
    allowed.ask(TITLE)
    allowed.expect_ending("complete")
    expect(allowed.page).to_have_title(f"{TITLE} · chatapp")
    assert told(allowed) == []


@pytest.mark.thorough
def test_who_wants_it_is_notified_of_the_conversation_and_of_no_word(
    allowed: Tab, upstream: FakeUpstream
) -> None:
    want_it(allowed)
    ask_and_look_away(allowed, upstream)
    until_told(allowed)
    assert told(allowed) == [{"title": TITLE, "body": "The reply has ended.", "open": True}]
    allowed.page.evaluate("told[0].notification.onclick()")
    assert allowed.page.evaluate("focused") == 1
    assert not told(allowed)[0]["open"]


@pytest.mark.thorough
def test_a_notification_goes_when_somebody_looks(allowed: Tab, upstream: FakeUpstream) -> None:
    want_it(allowed)
    ask_and_look_away(allowed, upstream)
    until_told(allowed)
    see(allowed, "visible")
    assert [one["open"] for one in told(allowed)] == [False]


@pytest.mark.thorough
def test_of_one_ending_there_is_one_notification_however_late_its_script_comes(
    allowed: Tab, desk: Desk, upstream: FakeUpstream
) -> None:
    held: list[Route] = []
    desk.context.route("**/while-streaming*.js", lambda route: held.append(route))
    want_it(allowed)
    first, last = Pause(), Pause()
    upstream.script(role(), delta("One."), first, delta(" Two."), last, finish(), done())
    allowed.ask(TITLE)
    expect(allowed.answer).to_contain_text("One.")
    first.release()
    expect(allowed.answer).to_contain_text("Two.")
    see(allowed, "hidden")
    last.release()
    allowed.expect_ending("complete")
    held[0].continue_()
    until_told(allowed)
    assert len(told(allowed)) == 1


@pytest.mark.thorough
def test_who_does_not_want_it_is_not_notified(allowed: Tab, upstream: FakeUpstream) -> None:
    ask_and_look_away(allowed, upstream)
    expect(allowed.page).to_have_title(f"● {TITLE} · chatapp")
    assert told(allowed) == []


@pytest.mark.thorough
def test_a_browser_that_forbids_it_is_said_so(sit_down: SitDown, alice: Person) -> None:
    desk = sit_down(alice)
    desk.context.add_init_script(FORBID)
    tab = desk.open()
    assert tab.page.evaluate("asked") == 0
    choose(tab, "Yes")
    expect(tab.page.get_by_role("alert").filter(has_text="notify of nothing")).to_be_visible()
    expect(notifying(tab, "No")).to_be_checked()
    assert tab.page.evaluate("[asked, localStorage.getItem('notify')]") == [1, None]
    expect_accessible(tab.page)
