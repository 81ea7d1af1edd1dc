"""Projects: creating them, moving chats by menu and by dragging, new chats, settings, deletion."""

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_lists import LISTS, folder, menu, row
from tests.browser.test_sidebar import give
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Person, Server, Site

INSTRUCTIONS = "Answer in rhymes, <b>always</b>."


@pytest.fixture
def tab(server: Server, desk: Desk, alice: Person) -> Tab:
    give(server, alice, count=3, hours=0)
    return desk.open()


def projects(tab: Tab) -> Locator:
    return tab.page.get_by_role("navigation", name="Projects").get_by_role("link")


def crumb(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("main").get_by_role("link", name=name)


def make(tab: Tab, name: str) -> None:
    tab.page.get_by_role("button", name="New project").click()
    dialog = tab.page.get_by_role("dialog", name="New project")
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("button", name="Create").click()
    expect(tab.page.get_by_role("heading", name=name, level=1)).to_be_visible()


def test_a_chat_begun_in_a_project_gets_its_instructions(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    make(tab, "Poems & more")
    expect(projects(tab)).to_have_text("Poems & more")
    expect(tab.page).to_have_title("Poems & more · chatapp")
    tab.page.get_by_role("button", name="Project settings").click()
    dialog = tab.page.get_by_role("dialog", name="Project settings")
    dialog.get_by_label("Instructions").fill(INSTRUCTIONS)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(tab.page.locator("#project-settings textarea")).to_have_value(INSTRUCTIONS)
    expect(crumb(tab, "Poems & more")).to_have_count(0)
    tab.ask("What is rain?")
    tab.expect_ending("complete")
    expect(crumb(tab, "Poems & more")).to_be_visible()
    assert upstream.chat_requests[-1].body["messages"] == [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": "What is rain?"},
    ]
    expect(tab.page.locator(".project-page")).to_be_hidden()
    expect(tab.sidebar.get_by_role("link", name="What is rain?")).to_have_count(0)
    tab.reload()
    tab.ask("And snow?")
    expect(tab.page.locator("article")).to_have_count(2)
    tab.expect_ending("complete")
    assert upstream.chat_requests[-1].body["messages"][0]["role"] == "system"
    crumb(tab, "Poems & more").click()
    expect(tab.page.locator("#project-chats").get_by_role("link")).to_have_text("What is rain?")
    tab.page.locator("#project-chats").get_by_role("link").click()
    expect(tab.page.locator("article")).to_have_count(2)
    tab.page.get_by_role("link", name="New chat").first.click()
    expect(tab.page.locator("article")).to_have_count(0)
    tab.ask("Plainly")
    tab.expect_ending("complete")
    assert [message["role"] for message in upstream.chat_requests[-1].body["messages"]] == ["user"]


@pytest.mark.thorough
def test_a_new_chat_after_a_deletion_is_in_no_project(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    make(tab, "Poems")
    tab.ask("What is rain?")
    tab.expect_ending("complete")
    beside = desk.open(str(crumb(tab, "Poems").get_attribute("href")))
    menu(beside, "What is rain?", "Delete")
    expect(tab.problem).to_be_visible()
    tab.ask("And snow?")
    tab.expect_ending("complete")
    expect(crumb(tab, "Poems")).to_have_count(0)
    expect(row(tab, "And snow?")).to_be_visible()


@pytest.mark.thorough
def test_a_list_that_arrives_after_a_replys_end_does_not_show_it_running(
    tab: Tab, upstream: FakeUpstream
) -> None:
    make(tab, "Poems")
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    tab.ask("What is rain?")
    expect(tab.answer).to_have_text("Half of")

    def bring_late(route: Route) -> None:
        answer = route.fetch()
        pause.release()
        tab.expect_ending("complete")
        route.fulfill(response=answer)

    tab.page.route("**/projects/**", bring_late)
    projects(tab).click()
    expect(tab.page.locator("#project-chats").get_by_role("link")).to_have_text("What is rain?")


@pytest.mark.thorough
def test_new_chats_of_a_project_use_its_model_whatever_was_picked_last(
    site: Site, sit_down: SitDown, alice: Person
) -> None:
    with FakeUpstream() as gateway:
        gateway.models = ["first", "second"]
        with site.server(OPENAI_BASE_URL=gateway.base_url) as server:
            tab = sit_down(alice, url=server.url).open()
            expect_preselected(tab, gateway)
            tab.page.close()


def expect_preselected(tab: Tab, gateway: FakeUpstream) -> None:
    model = tab.page.get_by_role("combobox", name="Model", exact=True)
    expect(model.locator("option")).to_have_count(2)
    values = model.locator("option").evaluate_all("options => options.map((one) => one.value)")
    model.select_option(values[1])
    make(tab, "Work")
    expect(model).to_have_value(values[1])
    tab.page.get_by_role("button", name="Project settings").click()
    dialog = tab.page.get_by_role("dialog", name="Project settings")
    dialog.get_by_label("Model for new chats").select_option(values[0])
    dialog.get_by_role("button", name="Save").click()
    expect(model).to_have_value(values[0])
    tab.reload()
    expect(model).to_have_value(values[0])
    tab.ask("Which one are you?")
    tab.expect_ending("complete")
    assert gateway.chat_requests[-1].body["model"] == "first"
    tab.page.get_by_role("link", name="New chat").first.click()
    expect(model).to_have_value(values[1])


def test_a_menu_moves_a_chat_into_a_project_and_back(tab: Tab) -> None:
    make(tab, "Work")
    menu(tab, "Chat 1", "Move to…")
    dialog = tab.page.get_by_role("dialog", name="Move to a project")
    expect(dialog.get_by_role("button", name="No project")).to_have_count(0)
    dialog.get_by_role("button", name="Work").click()
    expect(tab.sidebar.get_by_role("link", name="Chat 1")).to_have_count(0)
    projects(tab).click()
    expect(tab.page.locator("#project-chats .conversation")).to_have_text("Chat 1")
    menu(tab, "Chat 1", "Move to…")
    dialog.get_by_role("button", name="No project").click()
    expect(tab.sidebar.get_by_role("link", name="Chat 1")).to_be_visible()
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.sidebar.get_by_role("link", name="Chat 1")).to_have_count(0)


@pytest.mark.thorough
def test_chats_dragged_onto_a_project_move_into_it(tab: Tab) -> None:
    make(tab, "Work")
    for title in ("Chat 0", "Chat 2"):
        row(tab, title).locator("a").click(modifiers=["Control"])
    tab.sidebar.get_by_role("checkbox", name="Chat 2").drag_to(projects(tab))
    expect(tab.page.locator("#toast p")).to_have_text("2 chats moved.")
    expect(tab.sidebar.get_by_role("link")).to_have_text(["Chat 1"])
    projects(tab).click()
    chats = tab.page.locator("#project-chats .conversation")
    expect(chats).to_have_count(2)
    chats.first.get_by_role("link").drag_to(tab.sidebar)
    expect(tab.sidebar.get_by_role("link")).to_have_count(2)


@pytest.mark.thorough
def test_deleting_a_project_keeps_its_chats(tab: Tab) -> None:
    make(tab, "Work")
    menu(tab, "Chat 1", "Move to…")
    tab.page.get_by_role("dialog").get_by_role("button", name="Work").click()
    expect(tab.sidebar.get_by_role("link", name="Chat 1")).to_have_count(0)
    tab.page.get_by_role("button", name="Project settings").click()
    tab.page.get_by_role("button", name="Delete project…").click()
    tab.page.get_by_role("dialog", name="Delete this project?").get_by_role(
        "button", name="Delete"
    ).click()
    expect(projects(tab)).to_have_count(0)
    expect(tab.sidebar.get_by_role("link", name="Chat 1")).to_be_visible()
    expect(tab.page.locator("#title")).to_have_text("New chat")
    tab.ask("Still here?")
    tab.expect_ending("complete")


@pytest.mark.thorough
def test_a_blank_name_is_refused_in_its_dialog(
    desk: Desk, tab: Tab, sit_down: SitDown, bob: Person
) -> None:
    desk.expect_error("422")
    tab.page.get_by_role("button", name="New project").click()
    dialog = tab.page.get_by_role("dialog", name="New project")
    dialog.get_by_role("textbox", name="Name").fill("   ")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_have_text("Type a name first.")
    dialog.get_by_role("button", name="Cancel").click()
    make(tab, "Mine")
    theirs = sit_down(bob).open()
    expect(projects(theirs)).to_have_count(0)


# ---- changing the chats of a project on its page


def chats(tab: Tab) -> Locator:
    return tab.page.locator("#project-chats .conversation")


def move(tab: Tab, place: str) -> None:
    dialog = tab.page.get_by_role("dialog", name="Move to a project")
    dialog.get_by_role("button", name=place).click()


def toast(tab: Tab) -> Locator:
    return tab.page.locator("#toast p")


def undo(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Undo").click()


def expect_one_row_each(tab: Tab) -> None:
    tab.page.wait_for_function(
        """() => {
          const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
          return ids.length === new Set(ids).size;
        }"""
    )


@pytest.fixture
def project_tab(tab: Tab) -> Tab:
    """A tab on the project page; Chat 0 and Chat 2 are in the project, Chat 1 in none."""
    make(tab, "Work")
    for title in ("Chat 0", "Chat 2"):
        row(tab, title).locator("a").click(modifiers=["Control"])
    tab.page.get_by_role("toolbar").get_by_role("button", name="Move to…").click()
    move(tab, "Work")
    expect(tab.sidebar.get_by_role("link")).to_have_text(["Chat 1"])
    tab.reload()
    expect(chats(tab)).to_have_count(2)
    return tab


@pytest.mark.thorough
@pytest.mark.parametrize("action", ["Delete", "Archive"])
def test_deleting_or_archiving_on_a_project_page_can_be_undone(
    project_tab: Tab, action: str
) -> None:
    menu(project_tab, "Chat 0", action)
    expect(chats(project_tab)).to_have_text(["Chat 2"])
    undo(project_tab)
    expect(chats(project_tab)).to_have_count(2)
    menu(project_tab, "Chat 0", action)
    expect(chats(project_tab)).to_have_text(["Chat 2"])
    menu(project_tab, "Chat 2", action)
    expect(project_tab.page.get_by_text("No chats in this project yet.")).to_be_visible()
    undo(project_tab)
    expect(chats(project_tab)).to_have_text(["Chat 2"])
    expect(project_tab.page.get_by_text("No chats in this project yet.")).to_have_count(0)
    expect_one_row_each(project_tab)


@pytest.mark.thorough
def test_a_pinned_chat_is_on_top_in_its_project_and_can_be_unpinned(project_tab: Tab) -> None:
    last = project_tab.page.locator("#project-chats .infinite .conversation").last.inner_text()
    menu(project_tab, last, "Pin")
    expect(chats(project_tab).first).to_have_text(last)
    expect(chats(project_tab)).to_have_count(2)
    project_tab.page.get_by_role("button", name=f"Options for {last}").click()
    expect(project_tab.page.get_by_role("menuitem", name="Pin", exact=True)).to_be_hidden()
    project_tab.page.get_by_role("menuitem", name="Unpin").click()
    expect(chats(project_tab).last).to_have_text(last)
    undo(project_tab)
    expect(chats(project_tab).first).to_have_text(last)
    expect_one_row_each(project_tab)


@pytest.mark.thorough
def test_a_moved_chat_is_in_one_list_only(project_tab: Tab) -> None:
    menu(project_tab, "Chat 0", "Move to…")
    move(project_tab, "No project")
    expect(chats(project_tab)).to_have_text(["Chat 2"])
    expect(project_tab.sidebar.get_by_role("link")).to_have_count(2)
    expect_one_row_each(project_tab)
    menu(project_tab, "Chat 1", "Move to…")
    move(project_tab, "Work")
    expect(chats(project_tab)).to_have_count(2)
    expect(project_tab.sidebar.get_by_role("link")).to_have_text(["Chat 0"])
    undo(project_tab)
    expect(chats(project_tab)).to_have_text(["Chat 2"])
    expect_one_row_each(project_tab)


@pytest.mark.thorough
def test_a_projects_list_follows_changes_in_another_tab(desk: Desk, project_tab: Tab) -> None:
    beside = desk.open(project_tab.page.url.removeprefix(desk.url))
    menu(beside, "Chat 0", "Delete")
    for each_tab in (beside, project_tab):
        expect(chats(each_tab)).to_have_text(["Chat 2"])


@pytest.mark.thorough
def test_undo_moves_several_chats_back_to_where_they_were(project_tab: Tab) -> None:
    for chat in chats(project_tab).all():
        chat.locator("a").click(modifiers=["Control"])
    toolbar = project_tab.page.get_by_role("toolbar")
    toolbar.get_by_role("button", name="Move to…").click()
    dialog = project_tab.page.get_by_role("dialog", name="Move to a project")
    expect(dialog.get_by_role("listitem")).to_have_text(["No project"])
    move(project_tab, "No project")
    expect(chats(project_tab)).to_have_count(0)
    expect(project_tab.sidebar.get_by_role("link")).to_have_count(3)
    undo(project_tab)
    expect(chats(project_tab)).to_have_count(2)
    expect(project_tab.sidebar.get_by_role("link")).to_have_text(["Chat 1"])
    undo(project_tab)
    expect(chats(project_tab)).to_have_count(0)
    expect(project_tab.sidebar.get_by_role("link")).to_have_count(3)


@pytest.mark.thorough
def test_undo_moves_chats_back_to_two_lists(project_tab: Tab) -> None:
    for title in ("Chat 0", "Chat 1"):
        row(project_tab, title).locator("a").click(modifiers=["Control"])
    toolbar = project_tab.page.get_by_role("toolbar")
    toolbar.get_by_role("button", name="Move to…").click()
    dialog = project_tab.page.get_by_role("dialog", name="Move to a project")
    expect(dialog.get_by_role("listitem")).to_have_text(["No project", "Work"])
    move(project_tab, "Work")
    expect(chats(project_tab)).to_have_count(3)
    undo(project_tab)
    expect(toast(project_tab)).to_have_text("2 chats moved back.")
    expect(project_tab.sidebar.get_by_role("link")).to_have_text(["Chat 1"])
    expect(chats(project_tab)).to_have_count(2)
    expect_one_row_each(project_tab)
    undo(project_tab)
    expect(chats(project_tab)).to_have_count(3)


@pytest.mark.thorough
def test_a_moved_chat_appears_only_once_while_a_list_is_loading(project_tab: Tab) -> None:
    def bring_late(route: Route) -> None:
        answer = route.fetch()
        expect(chats(project_tab)).to_have_count(3)
        expect(row(project_tab, "Chat 1")).to_have_count(1)
        route.fulfill(response=answer)

    project_tab.page.route(f"{LISTS}folder=*", bring_late)
    menu(project_tab, "Chat 1", "Move to…")
    with project_tab.page.expect_response(f"{LISTS}folder=*"):
        move(project_tab, "Work")
    project_tab.page.unroute_all(behavior="wait")  # for the request that repeats it
    expect(chats(project_tab)).to_have_count(3)
    expect(project_tab.sidebar.get_by_role("link")).to_have_count(0)


@pytest.mark.thorough
def test_beside_the_archive_chats_move_by_menu_but_not_by_dragging(
    project_tab: Tab,
) -> None:
    make(project_tab, "Other")
    projects(project_tab).get_by_text("Work").click()
    expect(chats(project_tab)).to_have_count(2)
    menu(project_tab, "Chat 1", "Archive")
    folder(project_tab, "Archive")
    expect(project_tab.sidebar.get_by_role("link")).to_have_text(["Chat 1"])
    expect(projects(project_tab)).to_have_count(0)
    chats(project_tab).first.get_by_role("link").drag_to(project_tab.sidebar.get_by_role("link"))
    menu(project_tab, "Chat 0", "Move to…")
    dialog = project_tab.page.get_by_role("dialog", name="Move to a project")
    expect(dialog.get_by_role("listitem")).to_have_text(["No project", "Other"])
    move(project_tab, "Other")
    expect(chats(project_tab)).to_have_text(["Chat 2"])
    undo(project_tab)
    expect(chats(project_tab)).to_have_count(2)


@pytest.mark.thorough
def test_several_chats_are_dragged_out_of_a_project_and_back(project_tab: Tab) -> None:
    for chat in chats(project_tab).all():
        chat.locator("a").click(modifiers=["Control"])
    project_tab.page.locator("#project-chats").get_by_role("checkbox").first.drag_to(
        project_tab.sidebar
    )
    expect(project_tab.sidebar.get_by_role("link")).to_have_count(3)
    undo(project_tab)
    expect(chats(project_tab)).to_have_count(2)


def expect_done_by_menu_and_selection(tab: Tab) -> None:
    """Change chats on a project page while the sidebar is closed."""
    expect(tab.page.locator("#sidebar")).to_be_hidden()
    tab.page.get_by_role("button", name="Options for Chat 0").click()
    expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    tab.page.get_by_role("menuitem", name="Pin", exact=True).click()
    expect(chats(tab).first).to_have_text("Chat 0")
    menu(tab, "Chat 0", "Select")
    tab.page.locator("#project-chats").get_by_role("checkbox", name="Chat 2").click()
    expect(tab.page.locator("#selection-count")).to_have_text("2 selected")
    bar = tab.page.locator("#selection")
    expect(bar).to_be_in_viewport(ratio=1)
    bar_box, page = bar.bounding_box(), tab.page.locator("#main").bounding_box()
    assert bar_box
    assert page
    assert page["y"] + page["height"] <= bar_box["y"]  # it covers no row
    expect(tab.page.locator("#toast [data-undo]")).to_be_in_viewport(ratio=1)
    bar.get_by_role("button", name="Delete").click()
    expect(bar).to_be_hidden()
    expect(chats(tab)).to_have_count(0)
    undo(tab)
    expect(chats(tab)).to_have_count(2)


@pytest.mark.thorough
def test_a_projects_chats_are_changed_beside_a_folded_sidebar(project_tab: Tab) -> None:
    project_tab.page.get_by_role("button", name="Hide the sidebar").click()
    expect_done_by_menu_and_selection(project_tab)


@pytest.mark.thorough
def test_a_projects_chats_are_changed_on_a_phone(
    sit_down: SitDown, project_tab: Tab, alice: Person
) -> None:
    path = "/projects/" + project_tab.page.url.partition("/projects/")[2]
    tab = sit_down(alice, phone={"width": 390, "height": 844}).open(path)
    expect_done_by_menu_and_selection(tab)


@pytest.mark.thorough
def test_the_selection_bar_is_in_the_sidebar_while_that_is_open(project_tab: Tab) -> None:
    row(project_tab, "Chat 2").locator("a").click(modifiers=["Control"])
    bar = project_tab.page.locator("#selection")
    expect(project_tab.page.locator("#sidebar #selection")).to_be_visible()
    bar_box, foot = bar.bounding_box(), project_tab.page.locator(".sidebar-foot").bounding_box()
    assert bar_box
    assert foot
    assert bar_box["y"] + bar_box["height"] == foot["y"]
    project_tab.page.get_by_role("button", name="Hide the sidebar").click()
    expect(bar).to_be_in_viewport(ratio=1)
    project_tab.page.get_by_role("button", name="Conversations").click()
    expect(project_tab.page.locator("#sidebar #selection")).to_be_visible()
    assert bar.bounding_box() == bar_box
