"""Fields that ask for a person or a model suggest them while the administrator types."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown, open_confirmed
from tests.browser.test_accessible import expect_accessible
from tests.support.live import Person, Server, Site

NAMED = """
from django.contrib.auth.models import Group
from chatapp.models import User
User.objects.exclude(last_name="").update(first_name="", last_name="")
User.objects.filter(username="{username}").update(
    first_name="<b>Ottoline</b>", last_name="Quill", email="o.quill@example.org")
print(Group.objects.create(name="Readers of {username}").pk)
"""


def group_page(desk: Desk, server: Server, person: Person) -> Page:
    """Open a new group's page; the person to add is called <b>Ottoline</b> Quill."""
    group = server.run(NAMED.format(username=person.username))
    return open_confirmed(desk.context.new_page(), f"{desk.url}/people/groups/{group.strip()}/")


def test_a_person_is_added_to_a_group_by_part_of_their_name(
    sit_down: SitDown, site: Site, server: Server, alice: Person
) -> None:
    page = group_page(sit_down(site.olive), server, alice)
    field = page.get_by_role("combobox", name="Add a person")
    field.press_sequentially("quil")
    option = page.get_by_role("option", name="<b>Ottoline</b> Quill")
    expect(option).to_contain_text(f"{alice.username}, o.quill@example.org")
    expect_accessible(page)
    option.click()
    expect(field).to_have_value(alice.username)
    expect(option).to_be_hidden()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text(f"{alice.username} was added")
    expect(page.get_by_role("link", name=alice.username)).to_be_visible()


def test_a_picker_works_by_keyboard_alone(
    sit_down: SitDown, site: Site, server: Server, alice: Person
) -> None:
    page = group_page(sit_down(site.olive), server, alice)
    field = page.get_by_role("combobox", name="Add a person")
    field.press_sequentially("otto quill")
    option = page.get_by_role("option", name="<b>Ottoline</b> Quill")
    expect(option).to_be_visible()
    field.press("Escape")
    expect(option).to_be_hidden()
    field.press("ArrowDown")
    expect(option).to_be_visible()
    field.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    field.press("Enter")
    expect(field).to_have_value(alice.username)
    field.press("Enter")
    expect(page.get_by_role("link", name=alice.username)).to_be_visible()
