"""Sensitive actions ask for the password again, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.support.live import PASSWORD, Server, Site

pytestmark = pytest.mark.thorough

LIST, ADD = "/settings/tools/", "/settings/tools/new/"
POST = """
async ([path, fields, mark]) => {
  const text = await (await fetch("/settings/")).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  const token = page.querySelector("[name=csrfmiddlewaretoken]").value;
  const body = new URLSearchParams({...fields, csrfmiddlewaretoken: token});
  const answer = await fetch(path, {method: "POST", body, headers: mark, redirect: "manual"});
  return answer.status;
}
"""
LONG_AGO = """
from django.contrib.sessions.backends.db import SessionStore
session = SessionStore({key!r})
for record in session.get("account_authentication_methods", []):
    record["at"] -= 3600
session.modified = True
session.save()
"""
FIELDS = {
    "name": "evil",
    "transport": "stdio",
    "command": "touch /tmp/evil",
    "timeout_seconds": "30",
    "result_limit_kb": "100",
}


def test_an_administrator_is_asked_once_and_continues(
    site: Site, server: Server, sit_down: SitDown
) -> None:
    server.run(LONG_AGO.format(key=site.olive.session))
    desk = sit_down(site.olive)
    page = desk.context.new_page()
    page.goto(desk.url + ADD)
    expect(page.get_by_role("heading", name="Confirm it is you")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    for name in ("first-wiki", "second-wiki"):
        page.goto(desk.url + ADD)
        page.get_by_label("Name").fill(name)
        page.get_by_label("URL").fill("http://127.0.0.1:1/mcp")
        page.get_by_role("button", name="Connect").click()
        expect(page.get_by_text("can't be reached")).to_be_visible()
    page.goto(desk.url + LIST)
    expect(page.get_by_role("link", name="first-wiki")).to_be_visible()
    # A script in one of her pages has her session and her token, but still changes nothing.
    desk.expect_error("403")
    for mark in ({}, {"HX-Request": "true"}, {"Sec-Fetch-Mode": "navigate"}):
        assert page.evaluate(POST, [ADD, FIELDS, mark]) == 403
    page.goto(desk.url + LIST)
    expect(page.get_by_role("link", name="evil")).to_have_count(0)
