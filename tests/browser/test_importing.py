"""A person uploads an export, looks at what would come, imports it, and opens a chat."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import SitDown, open_confirmed
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_long_names import expect_to_fit
from tests.imports.uploading import database, many
from tests.support.live import Person, Server, Site
from tests.support.profile import choose_size, sample_params
from tests.transfer.samples import gpt_turn

PHONE = ViewportSize(width=390, height=844)
STRANGERS = choose_size(60, 600)


@pytest.mark.parametrize("phone", sample_params([PHONE, None]))
def test_a_person_imports_their_chats_and_undoes_it(
    sit_down: SitDown, server: Server, alice: Person, tmp_path: Path, phone: ViewportSize | None
) -> None:
    file, notes = tmp_path / "export.json", tmp_path / "notes.json"
    notes.write_text('{"notes": []}')
    file.write_text(json.dumps([*many(2), gpt_turn(gizmo_id="g-p-1"), {"mapping": {}}]))
    page = sit_down(alice, phone=phone).context.new_page()
    page.goto(f"{server.url}/preferences/")
    page.get_by_role("link", name="Import chats").click()
    expect(page.get_by_text("None yet")).to_be_visible()
    expect_to_fit(page)
    expect_accessible(page)
    page.get_by_label("Your export").set_input_files(notes)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("This file isn't an export that can be read.")).to_be_visible()
    page.get_by_role("button", name="Choose another file").click()
    expect(page.get_by_text("None yet")).to_be_visible()
    page.get_by_label("Your export").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("3 chats with 6 messages from ChatGPT")).to_be_visible()
    page.get_by_text("It has no messages.").click()
    expect_to_fit(page)
    expect_accessible(page)
    tab = sit_down(alice, phone=phone).open()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Imported chats")).to_be_visible()
    expect(tab.page.locator("nav[aria-label=Conversations] a", has_text="Chat 1")).to_be_attached()
    expect_to_fit(page)
    expect_accessible(page)
    report = page.url
    page.get_by_role("link", name="Bread").click()
    expect(page.get_by_text("About an hour.")).to_be_visible()
    page.goto(report)
    page.get_by_text("Undo this import…").click()
    page.get_by_role("button", name="Undo the import").click()
    expect(page.get_by_role("row", name="Chats deleted")).to_contain_text("3")
    expect(page.get_by_role("link", name="Bread")).to_have_count(0)


def test_a_stopped_upload_says_how_to_go_on_and_keeps_the_focus(
    sit_down: SitDown, server: Server, alice: Person, tmp_path: Path
) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps([gpt_turn()]))
    page = sit_down(alice).context.new_page()
    page.goto(f"{server.url}/imports/")
    page.get_by_label("Your export").set_input_files(file)
    parts = f"{server.url}/imports/files/*/part/"
    page.route(parts, lambda route: None)  # never answered
    upload, stop = (page.get_by_role("button", name=name) for name in ("Upload", "Stop"))
    with page.expect_request(parts):
        upload.press("Enter")
    expect(stop).to_be_focused()
    with page.expect_event("requestfailed"):  # or `unroute` would let the part arrive
        stop.press("Enter")
    expect(page.get_by_role("alert")).to_have_text(
        "You have stopped the upload. Choose Upload to go on where it stopped."
    )
    expect(upload).to_be_focused()
    page.unroute(parts)
    upload.press("Enter")
    expect(page.get_by_text("1 chat with 2 messages from ChatGPT")).to_be_visible()


SET_ADDRESSES = """
from chatapp.models import User
for name in ("olive", {name!r}):
    User.objects.filter(username=name).update(email=f"{{name}}@example.org")
"""


@pytest.mark.parametrize("phone", sample_params([PHONE, None]))
def test_an_administrator_imports_a_database_for_others(
    sit_down: SitDown,
    server: Server,
    site: Site,
    alice: Person,
    tmp_path: Path,
    phone: ViewportSize | None,
) -> None:
    server.run(SET_ADDRESSES.format(name=alice.username))
    strangers = [(f"Chat {number}", f"{'stranger' * 5}{number}") for number in range(STRANGERS)]
    file = tmp_path / "webui.db"
    file.write_bytes(database(("Bread", alice.username), ("Mine", "olive"), *strangers).read())
    page = sit_down(site.olive, phone=phone).context.new_page()
    open_confirmed(page, f"{server.url}/retention/")
    page.goto(f"{server.url}/imports/")
    page.get_by_label("Your export").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
    people = page.get_by_role("region", name="People in the database")
    expect(people.get_by_role("row")).to_have_count(STRANGERS + 3)
    expect(people.get_by_role("checkbox")).to_have_count(2)
    expect(people.get_by_role("checkbox", name="Olive")).to_be_checked()
    expect(people.get_by_role("row", name=alice.username)).to_contain_text("not confirmed")
    expect(page.get_by_text("Bread")).to_have_count(0)
    expect_to_fit(page)
    expect_accessible(page)
    people.get_by_role("checkbox", name=alice.username.capitalize()).check()
    page.get_by_role("button", name="Import", exact=True).click()
    report = page.get_by_role("region", name="What was imported")
    expect(report.get_by_role("row", name=alice.username)).to_contain_text("1 new chat")
    expect(page.get_by_text("Bread")).to_have_count(0)
    expect_to_fit(page)
    expect_accessible(page)
    hers = sit_down(alice, phone=phone).context.new_page()
    hers.goto(f"{server.url}/imports/")
    hers.get_by_role("link", name="Open WebUI").click()
    expect(hers.get_by_text("An administrator imported these chats")).to_be_visible()
    hers.get_by_role("link", name="Bread").click()
    expect(hers.get_by_text("Prompt 0")).to_be_visible()
    page.get_by_text("Undo this import…").click()
    page.get_by_role("button", name="Undo the import").click()
    expect(report.get_by_role("row", name=alice.username)).to_contain_text("Chats deleted: 1")
