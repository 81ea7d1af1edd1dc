"""Actions of a person on conversations in the sidebar, by mouse, keyboard and touch."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_sidebar import give, read_list
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.live import Person, Server

LISTS = "**/conversations/?*"
SCRIPT = "**/js/sidebar/actions.*"
COUNT_LISTS = """
document.addEventListener("htmx:after:settle", ({ target: { id } }) => {
  const { dataset } = document.documentElement;
  if (id === "conversation-lists") dataset.lists = Number(dataset.lists ?? 0) + 1;
});
"""


@pytest.fixture
def three(server: Server, alice: Person) -> None:
    """Three chats from today: 0, 1 and 2."""
    give(server, alice, count=3, hours=0)


@pytest.fixture
def tab(three: None, desk: Desk) -> Tab:
    return desk.open()


def row(tab: Tab, title: str) -> Locator:
    return tab.page.locator(".conversation", has_text=title)


def menu(tab: Tab, title: str, item: str) -> None:
    tab.page.get_by_role("button", name=f"Options for {title}").click()
    tab.page.get_by_role("menuitem", name=item, exact=True).click()


def toast(tab: Tab) -> Locator:
    return tab.page.locator("#toast p")


def folder(tab: Tab, name: str) -> None:
    tab.page.get_by_role("button", name="Account").click()
    tab.page.get_by_role("button", name=name, exact=True).click()
    expect(tab.page.get_by_role("heading", name=name)).to_be_visible()


@pytest.mark.thorough
def test_a_chat_begun_while_a_list_loads_is_in_the_list(tab: Tab) -> None:
    def bring_late(route: Route) -> None:
        answer = route.fetch()
        tab.ask("Meanwhile")
        expect(row(tab, "Meanwhile")).to_be_visible()
        route.fulfill(response=answer)

    tab.page.route(LISTS, bring_late, times=1)
    tab.page.evaluate(COUNT_LISTS)
    tab.page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
    # the list was requested again
    expect(tab.page.locator("html[data-lists='2']")).to_be_attached()
    expect(row(tab, "Meanwhile")).to_be_visible()
    tab.expect_ending("complete")


def test_a_title_is_edited_in_place(desk: Desk, tab: Tab) -> None:
    beside = desk.open()
    link = tab.sidebar.get_by_role("link", name="Chat 1")
    link.focus()
    tab.page.keyboard.press("F2")
    box = tab.page.get_by_role("textbox", name="Title")
    expect(box).to_be_focused()
    expect(box).to_have_value("Chat 1")
    box.fill("Never mind")
    box.press("Escape")
    expect(box).to_have_count(0)
    expect(link).to_be_focused()
    link.dblclick()
    expect(tab.page.locator("#title")).to_have_text("Chat 1")
    box.fill("  <b>Paris</b> & more ")
    box.press("Enter")
    for each_tab in (tab, beside):
        expect(each_tab.sidebar.get_by_role("link", name="<b>Paris</b> & more")).to_be_visible()
    expect(tab.page.locator("#title")).to_have_text("<b>Paris</b> & more")
    menu(tab, "Chat 2", "Rename")
    box.fill("By the menu")
    tab.message.click()  # click elsewhere
    expect(tab.sidebar.get_by_role("link", name="By the menu")).to_be_visible()
    tab.reload()
    assert sorted(read_list(tab.page)[1:]) == ["<b>Paris</b> & more", "By the menu", "Chat 0"]


def test_a_list_arriving_late_does_not_remove_a_title_being_typed(tab: Tab) -> None:
    def bring_late(route: Route) -> None:
        answer = route.fetch()
        menu(tab, "Chat 1", "Rename")
        box.fill("Half a ti")
        route.fulfill(response=answer)

    box = tab.page.get_by_role("textbox", name="Title")
    tab.page.evaluate(
        """addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
          if (ctx.sourceElement.id === "lists") document.documentElement.dataset.answered = "";
        })"""
    )
    tab.page.route(LISTS, bring_late, times=1)
    tab.page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
    expect(tab.page.locator("html[data-answered]")).to_be_attached()
    expect(box).to_have_value("Half a ti")
    expect(box).to_be_focused()
    box.press("Enter")
    expect(row(tab, "Half a ti")).to_be_visible()


def test_a_reply_continues_while_a_title_is_being_typed(tab: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), delta("One "), pause, delta("two."), finish(), done())
    tab.ask("Count")
    expect(tab.answer).to_have_text("One")
    menu(tab, "Chat 1", "Rename")
    box = tab.page.get_by_role("textbox", name="Title")
    box.fill("Half a ti")
    pause.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("One two.")
    expect(box).to_be_focused()


@pytest.mark.thorough
def test_a_frame_does_not_remove_a_title_being_typed(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    beside = desk.open()
    menu(tab, "Chat 1", "Rename")
    box = tab.page.get_by_role("textbox", name="Title")
    box.fill("Half a ti")
    menu(beside, "Chat 1", "Pin")
    expect(beside.page.locator("#pinned-list .conversation")).to_have_count(1)
    expect(box).to_have_value("Half a ti")
    expect(box).to_be_focused()
    box.press("Enter")
    expect(tab.page.locator("#pinned-list .conversation")).to_have_text("Half a ti")


@pytest.mark.thorough
def test_pinned_chats_are_on_top_in_every_tab(desk: Desk, tab: Tab) -> None:
    beside = desk.open()
    menu(tab, "Chat 0", "Pin")
    for each_tab in (tab, beside):
        expect(each_tab.page.locator("#pinned-list .conversation")).to_have_text("Chat 0")
        expect(row(each_tab, "Chat 0")).to_have_count(1)
    beside.sidebar.get_by_role("link", name="Chat 0").click()
    expect(beside.page.locator("#title")).to_have_text("Chat 0")
    beside.ask("More of it")
    beside.expect_ending("complete")
    expect(beside.page.locator("#pinned-list .conversation")).to_have_text("Chat 0")
    expect(row(beside, "Chat 0")).to_have_count(1)
    menu(tab, "Chat 0", "Unpin")
    expect(tab.page.locator("#pinned-list .conversation")).to_have_count(0)
    expect(beside.page.locator("#pinned-list .conversation")).to_have_count(0)


@pytest.mark.thorough
def test_archived_chats_are_out_of_the_list_but_can_be_opened(desk: Desk, tab: Tab) -> None:
    menu(tab, "Chat 1", "Archive")
    expect(row(tab, "Chat 1")).to_have_count(0)
    expect(toast(tab)).to_have_text("Archived.")
    folder(tab, "Archive")
    tab.sidebar.get_by_role("link", name="Chat 1").click()
    expect(tab.page.locator("#title")).to_have_text("Chat 1")
    menu(tab, "Chat 1", "Unarchive")
    expect(tab.page.get_by_text("Nothing is archived.")).to_be_visible()
    tab.page.get_by_role("button", name="Back to chats").click()
    expect(row(tab, "Chat 1")).to_be_visible()


def test_a_deletion_is_undone_by_keyboard(tab: Tab) -> None:
    options = tab.page.get_by_role("button", name="Options for Chat 1")
    options.focus()
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("Enter")
    expect(row(tab, "Chat 1")).to_have_count(0)
    expect(tab.page.get_by_role("status").filter(has_text="Moved to the trash.")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Undo")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(row(tab, "Chat 1")).to_be_visible()


@pytest.mark.thorough
def test_the_trash_restores_and_deletes_for_good(desk: Desk, tab: Tab) -> None:
    beside = desk.open()
    for title in ("Chat 0", "Chat 1", "Chat 2"):
        menu(tab, title, "Delete")
        expect(row(tab, title)).to_have_count(0)
        expect(row(beside, title)).to_have_count(0)
    folder(tab, "Trash")
    expect(tab.page.get_by_text("deleted permanently after 30 days")).to_be_visible()
    expect(tab.sidebar.get_by_role("link")).to_have_count(0)
    menu(tab, "Chat 0", "Restore")
    expect(row(beside, "Chat 0")).to_be_visible()
    expect(row(tab, "Chat 0")).to_have_count(0)
    menu(tab, "Chat 1", "Delete permanently")
    tab.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(tab, "Chat 1")).to_have_count(0)
    tab.page.get_by_role("button", name="Empty").click()
    tab.page.get_by_role("button", name="Empty the trash").click()
    expect(tab.page.get_by_text("The trash is empty.").first).to_be_visible()
    tab.page.get_by_role("button", name="Back to chats").click()
    expect(tab.page.locator(".conversation")).to_have_count(1)


@pytest.mark.thorough
def test_the_list_requested_last_is_shown_whatever_changes_meanwhile(tab: Tab) -> None:
    def bring_late(route: Route) -> None:
        answer = route.fetch()
        tab.page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
        route.fulfill(response=answer)

    folder(tab, "Archive")
    tab.page.route(LISTS, bring_late, times=1)
    tab.page.evaluate(COUNT_LISTS)
    tab.page.get_by_role("button", name="Back to chats").click()
    expect(tab.page.locator("html[data-lists='2']")).to_be_attached()
    expect(tab.sidebar.get_by_role("link")).to_have_count(3)


def test_several_chats_are_selected_with_shift_and_ctrl(tab: Tab) -> None:
    titles = read_list(tab.page)[1:]
    tab.sidebar.get_by_role("link", name=titles[0]).click(modifiers=["Control"])
    count = tab.page.locator("#selection-count")
    expect(count).to_have_text("1 selected")
    tab.sidebar.get_by_role("checkbox", name=titles[2]).click(modifiers=["Shift"])
    expect(count).to_have_text("3 selected")
    tab.sidebar.get_by_role("checkbox", name=titles[1]).focus()
    tab.page.keyboard.press("Space")
    expect(count).to_have_text("2 selected")
    expect(tab.page.locator("#title")).to_have_text("New chat")  # none was opened
    tab.page.get_by_role("toolbar").get_by_role("button", name="Archive").click()
    expect(tab.page.locator(".conversation")).to_have_text([titles[1]])
    expect(toast(tab)).to_have_text("2 chats archived.")
    expect(tab.page.locator("#selection")).to_be_hidden()
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.locator(".conversation")).to_have_count(3)


@pytest.mark.thorough
def test_chats_are_selected_and_deleted_by_touch(
    sit_down: SitDown, three: None, alice: Person
) -> None:
    tab = sit_down(alice, phone={"width": 390, "height": 844}).open()
    tab.page.get_by_role("button", name="Conversations").tap()
    tab.page.get_by_role("button", name="Options for Chat 1").tap()
    tab.page.get_by_role("menuitem", name="Select").tap()
    tab.page.get_by_role("checkbox", name="Chat 2").tap()
    expect(tab.page.locator("#selection-count")).to_have_text("2 selected")
    tab.page.get_by_role("toolbar").get_by_role("button", name="Delete").tap()
    expect(tab.page.locator(".conversation")).to_have_count(1)
    tab.page.get_by_role("button", name="Undo").tap()
    expect(tab.page.locator(".conversation")).to_have_count(3)


@pytest.mark.thorough
def test_actions_before_their_script_has_loaded_are_performed_afterwards(
    tab: Tab, upstream: FakeUpstream
) -> None:
    late: list[Route] = []
    tab.page.route(SCRIPT, lambda route: late.append(route))
    upstream.script(role(), delta("Half"), Stall())
    tab.ask("Why?")
    expect(tab.answer).to_have_text("Half")
    with tab.page.expect_request(SCRIPT):
        tab.sidebar.get_by_role("link", name="Chat 1").click(modifiers=["Control"])
    tab.sidebar.get_by_role("link", name="Chat 2").click()
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("button", name="Options for Chat 0").click()
    expect(tab.page.locator("#conversation-menu")).to_be_hidden()
    late[0].continue_()
    expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    expect(tab.page.locator("#selection")).to_be_hidden()
    tab.expect_ending("streaming")
    tab.stop.click()
    tab.expect_ending("stopped")


@pytest.mark.thorough
def test_nothing_is_done_if_its_script_cannot_be_loaded_and_that_is_reported(
    desk: Desk, tab: Tab
) -> None:
    desk.expect_error("ERR_FAILED|sidebar/actions")
    tab.page.route(SCRIPT, lambda route: route.abort())
    tab.page.get_by_role("button", name="Options for Chat 0").click()
    expect(toast(tab)).to_contain_text("That didn't work.")
    expect(tab.page.locator("#conversation-menu")).to_be_hidden()


@pytest.mark.thorough
def test_escape_ends_a_selection_and_stops_no_reply(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Half"), Stall())
    tab.ask("Why?")
    expect(tab.answer).to_have_text("Half")
    tab.sidebar.get_by_role("link", name="Chat 1").click(modifiers=["Control"])
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#selection")).to_be_hidden()
    tab.expect_ending("streaming")
    tab.stop.click()
    tab.expect_ending("stopped")


@pytest.mark.thorough
def test_the_selection_is_downloaded(tab: Tab, tmp_path: Path, upstream: FakeUpstream) -> None:
    tab.ask("What is <this>?")
    tab.expect_ending("complete")
    for title in ("What is <this>?", "Chat 1"):
        row(tab, title).locator("a").click(modifiers=["Control"])
    tab.page.get_by_role("toolbar").get_by_role("button", name="Export").click()
    export = tab.page.get_by_role("dialog", name="Export")
    export.get_by_role("radio", name="JSON").check()
    with tab.page.expect_download() as download:
        export.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "some.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "some.jsonl").read_text().splitlines()]
    assert sorted(line["title"] for line in lines) == ["Chat 1", "What is <this>?"]
    messages = next(line["messages"] for line in lines if line["messages"])
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[0]["content"] == "What is <this>?"
    assert messages[1]["parent"] == messages[0]["id"]
    tab.ask("Still connected?")
    tab.expect_ending("complete")


@pytest.mark.thorough
def test_a_list_loads_in_both_directions_and_keeps_a_limited_number_of_rows(
    server: Server, sit_down: SitDown, bob: Person
) -> None:
    give(server, bob, count=1000, hours=1)
    tab = sit_down(bob).open()
    rows, lists = tab.page.locator(".conversation"), tab.page.locator("#lists")
    tab.page.locator(".conversation-row").first.click(modifiers=["Control"])
    seen: list[str] = []
    while "Chat 999" not in seen:
        tab.page.wait_for_function(
            """last => {
              const lists = document.getElementById("lists");
              lists.scrollTop = lists.scrollHeight; // repeatedly, as with a mouse wheel
              return [...document.querySelectorAll(".conversation")].at(-1).dataset.id !== last
                || !document.querySelector(".older");
            }""",
            arg=seen and tab.page.locator(".conversation").last.get_attribute("data-id"),
        )
        titles = rows.locator(".conversation-title").all_inner_texts()
        assert len(titles) <= 300
        seen += [title for title in titles if title not in seen]
    assert seen == [f"Chat {number}" for number in range(1000)]
    # From the first row, which is no longer on the page.
    tab.page.locator(".conversation-row").last.click(modifiers=["Shift"])
    expect(tab.page.locator("#selection-count")).to_have_text("1000 selected")
    while "Chat 0" not in rows.locator(".conversation-title").all_inner_texts():
        lists.evaluate("lists => { lists.scrollTop = 200 }")
        tab.page.wait_for_timeout(50)
        assert rows.count() <= 300
    expect(tab.page.locator(".newer")).to_have_count(0)
    titles = rows.locator(".conversation-title").all_inner_texts()
    assert titles == [f"Chat {number}" for number in range(len(titles))]
    days = tab.page.locator("#conversation-list .day").all_inner_texts()
    assert len(days) == len(set(days))


@pytest.mark.thorough
def test_visible_rows_do_not_move_while_rows_are_added_above(
    server: Server, sit_down: SitDown, bob: Person
) -> None:
    give(server, bob, count=1000, hours=1)
    tab = sit_down(bob).open()
    tab.page.evaluate(
        """async () => {
          const lists = document.getElementById("lists");
          while (!document.querySelector(".newer")) {
            lists.scrollTop = lists.scrollHeight;
            await new Promise(requestAnimationFrame);
          }
        }"""
    )
    first = tab.page.locator("#conversation-list .conversation").first.get_attribute("data-id")
    jump = tab.page.evaluate(
        """async (first) => {
          const lists = document.getElementById("lists");
          const watched = document.querySelectorAll(".conversation")[12];
          lists.scrollTop = 420;
          const before = watched.getBoundingClientRect().top;
          const hasCome = () =>
            document.querySelector("#conversation-list .conversation").dataset.id !== first;
          while (!hasCome()) await new Promise(requestAnimationFrame);
          await new Promise(requestAnimationFrame);
          await new Promise(requestAnimationFrame);
          return watched.getBoundingClientRect().top - before;
        }""",
        first,
    )
    assert abs(jump) < 1
    tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    tab.page.wait_for_timeout(500)
    expect(tab.page.locator(".newer")).to_have_count(1)  # it was rendered again from there


@pytest.mark.thorough
def test_a_reply_that_ends_unseen_is_marked_until_it_is_seen(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    tab.ask("Take your time")
    expect(tab.answer).to_have_text("Half of")
    beside = desk.open()
    expect(row(beside, "Take your time").locator(".running")).to_be_visible()
    tab.sidebar.get_by_role("link", name="Chat 1").click()
    expect(tab.page.locator("#title")).to_have_text("Chat 1")
    upstream.script(role(), delta("Here."), finish(), done())
    tab.ask("Where am I?")  # once this is answered, the server knows that the tab has moved
    tab.expect_ending("complete")
    pause.release()
    for each_tab in (tab, beside):
        expect(row(each_tab, "Take your time").locator(".unread")).to_be_visible()
        expect(row(each_tab, "Take your time").locator(".running")).to_have_count(0)
    tab.sidebar.get_by_role("link", name="Take your time").click()
    for each_tab in (tab, beside):
        expect(row(each_tab, "Take your time").locator(".unread")).to_be_hidden()
    tab.reload()
    expect(row(tab, "Take your time").locator(".unread")).to_have_count(0)


@pytest.mark.thorough
def test_a_reply_watched_to_its_end_is_not_marked(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    tab.ask("Now")
    tab.expect_ending("complete")
    beside = desk.open()
    expect(row(beside, "Now")).to_be_visible()
    expect(row(beside, "Now").locator(".unread")).to_have_count(0)


@pytest.mark.thorough
def test_a_toast_disappears_after_a_while_but_not_while_it_has_the_focus(
    desk: Desk, tab: Tab
) -> None:
    tab.page.clock.install()
    menu(tab, "Chat 1", "Pin")
    expect(toast(tab)).to_have_text("Pinned.")
    expect(tab.page.locator(".htmx-request")).to_have_count(0)  # or its own clock would time out
    undo = tab.page.get_by_role("button", name="Undo")
    undo.focus()
    tab.page.clock.run_for(30_000)
    expect(undo).to_be_visible()
    tab.message.focus()
    tab.page.clock.run_for(13_000)
    expect(undo).to_be_hidden()
    expect(toast(tab)).to_have_text("")


def test_a_toast_is_over_the_column_and_never_over_the_message_box(desk: Desk, tab: Tab) -> None:
    menu(tab, "Chat 1", "Pin")
    expect(toast(tab)).to_have_text("Pinned.")
    tab.page.get_by_role("button", name="Undo").focus()  # keeps it
    for width in (1280, 390):
        tab.page.set_viewport_size({"width": width, "height": 800})
        toast_box, box, column = (
            tab.page.locator(selector).bounding_box()
            for selector in ("#toast", ".composer-card", "#main")
        )
        assert toast_box
        assert box
        assert column
        assert toast_box["y"] + toast_box["height"] <= box["y"]
        assert toast_box["y"] >= tab.page.evaluate(
            "document.querySelector('.topbar').getBoundingClientRect().bottom"
        )
        middle = toast_box["x"] + toast_box["width"] / 2
        assert abs(middle - column["x"] - column["width"] / 2) <= 1
