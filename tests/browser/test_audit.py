"""The audit log page in a browser: read, expanded, filtered, verified, exported."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.test_accessible import expect_accessible
from tests.browser.test_confirming import LONG_AGO
from tests.support.live import PASSWORD, Person, Server, Site

DID = """
from django.db import transaction
from chatapp.models import User, audit
person = User.objects.get(username="{username}")
person.first_name, person.last_name = "Wilma", "Wagtail"
person.save()
with transaction.atomic():
    audit.record("conversations.listed", actor=person)
    audit.record("usage.exported", actor=User.objects.get(username="olive"))
"""


@pytest.mark.thorough
def test_the_audit_log_page(sit_down: SitDown, site: Site, server: Server, tmp_path: Path) -> None:
    stranger = sit_down().context.new_page()
    stranger.goto(f"{server.url}/accounts/login/")
    stranger.get_by_label("Login").or_(stranger.get_by_label("Username")).first.fill("olive<b>")
    stranger.get_by_label("Password").first.fill("wrong")
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.get_by_role("alert").first).to_be_visible()

    server.run(LONG_AGO.format(key=site.olive.session))
    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}/settings/tools/new/")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("wiki")
    page.get_by_label("URL").fill("http://127.0.0.1:1/" + "mcp/" * 30)
    page.get_by_role("button", name="Connect").click()

    page.goto(f"{server.url}/audit/")
    events = page.get_by_role("region", name="Newest events")
    expect(events).to_contain_text("Someone failed to sign in as someone without an account")
    expect(events).not_to_contain_text("olive<b>")
    added = events.get_by_role("listitem").filter(has_text="olive added the tool server")
    added.get_by_text("Details").click()
    expect(added.get_by_role("row", name="url")).to_contain_text("127.0.0.1:1/mcp/mcp/")
    expect_accessible(page)

    page.get_by_label("Action").fill("added the tool")
    page.get_by_role("option", name="Added the tool server").click()
    page.get_by_label("Done by").fill("olive")
    page.keyboard.press("Enter")
    expect(events.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_label("From", exact=True)).to_be_hidden()
    page.get_by_label("When").select_option("From … to …")
    expect(page.get_by_label("From", exact=True)).to_be_visible()
    page.get_by_label("Done by").fill("nobody at all")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("No events match")).to_be_visible()
    expect_accessible(page)

    page.get_by_role("button", name="Verify the whole log").click()
    expect(page.get_by_role("status")).to_contain_text("The log is intact")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as JSON Lines").click()
    download.value.save_as(tmp_path / "log.jsonl")
    assert '"log.exported"' in (tmp_path / "log.jsonl").read_text()


def test_what_a_person_did_last_week_is_found_by_part_of_their_name(
    sit_down: SitDown, site: Site, server: Server, alice: Person
) -> None:
    server.run(DID.format(username=alice.username))
    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}/audit/")
    page.get_by_label("Done by").press_sequentially("wagtail")
    page.get_by_role("option", name="Wilma Wagtail").click()
    page.get_by_label("When").select_option("In the last 7 days")
    page.get_by_role("button", name="Show").click()
    events = page.get_by_role("region", name="Newest events")
    expect(events.get_by_role("listitem")).to_have_count(1)
    expect(events).to_contain_text(f"{alice.username} viewed the list of chats")
    expect_accessible(page)


LONG = """
from django.db import transaction
from chatapp.models import User, audit
olive = User.objects.get(username="olive")
change = {"a_setting_with_a_rather_long_name": "w" * 900, "models": {"k" * 120: "v" * 300}}
with transaction.atomic():
    audit.record("limit.changed", actor=olive, about=olive,
                 detail={"before": change, "after": change | {"models": [1] * 200}, "k" * 80: "x"})
"""
SCROLLING = """() => [document.documentElement, ...document.querySelectorAll("main *")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .filter((one) => getComputedStyle(one).overflowX === "auto" || !one.parentElement)
  .map((one) => one.outerHTML.slice(0, 80))"""


@pytest.mark.thorough
def test_nothing_scrolls_sideways_for_long_values(
    sit_down: SitDown, site: Site, server: Server
) -> None:
    server.run(LONG)
    for width in (1280, 390):
        page = sit_down(site.olive, viewport={"width": width, "height": 800}).context.new_page()
        page.goto(f"{server.url}/audit/")
        changed = page.get_by_role("listitem").filter(has_text="olive changed the limit").first
        changed.get_by_text("Details").click()
        expect(changed.get_by_role("table")).to_be_visible()
        assert page.evaluate(SCROLLING) == []
