"""axe-core finds nothing on any page, in any of its states: wide and narrow, light and dark."""

import json
import re
from collections.abc import Iterable
from typing import Any, Literal

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Desk, SitDown, Tab, open_confirmed, open_row
from tests.support.fake_upstream import (
    FakeUpstream,
    Stall,
    Step,
    choice,
    delta,
    done,
    finish,
    reasoning,
    refusal,
    role,
    usage,
)
from tests.support.live import ROOT, Server, Site
from tests.support.long_thread import store_long_thread
from tests.support.profile import choose_size, sample_params
from tests.support.reviewer import address, open_in

AXE = (ROOT / "tests/vendor/axe-core-4.14.1/axe.min.js").read_text()
WIDTHS = choose_size({"wide": 1280}, {"wide": 1280, "narrow": 390})
# A phone's innerWidth grows with content wider than the screen.
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# With preload, for one rule about rotated phones, axe adds styles to the page, which our CSP
# forbids.
RUN = "axe.run(document, { resultTypes: ['violations'], preload: %s })"
# During a transition between schemes, colours belong to neither.
SETTLE = """() => new Promise((resolve) => requestAnimationFrame(() => {
  for (const one of document.getAnimations()) {
    if (one instanceof CSSTransition) one.finish();
  }
  requestAnimationFrame(resolve);
}))"""
SCHEMES: list[Literal["light", "dark"]] = choose_size(["dark"], ["light", "dark"])

COLLEAGUE = """
from chatapp.models import Review, User, audit
from django.db import transaction
with transaction.atomic():
    olive = User.objects.get(username="olive")
    review = Review.get_for_update({conversation!r})
    review.claim(olive)
    audit.record("review.claimed", actor=olive, about=review.conversation)
"""
RICH = """\
# A heading

Words with `code`, a [link](https://example.org/) and $\\sqrt{b^2-4ac}$.

## Another

- [x] done
- [ ] open

1. one
2. two

> Quoted.

| left | right |
|------|------:|
| a    | 1     |

```python
def wide(): return "%s"
```

$$\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}$$
""" % ("x" * 200)


def violations(page: Page, preload: str = "false") -> list[str]:
    """Return each rule that the page breaks as it looks now, and the elements that break it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    page.evaluate(SETTLE)
    result = page.evaluate(RUN % preload)
    return [_describe_rule(rule) for rule in result["violations"]]


def _describe_rule(rule: dict[str, Any]) -> str:
    nodes = "; ".join(f"{node['target']} {node['failureSummary']}" for node in rule["nodes"][:4])
    return f"{rule['id']}: {rule['help']}: {nodes}"


def expect_accessible(page: Page, widths: Iterable[str] = WIDTHS) -> None:
    """Check the page in these widths and both schemes, and restore the window."""
    before = page.viewport_size
    broken_rules: dict[str, list[str]] = {}
    for width in widths:
        page.set_viewport_size({"width": WIDTHS[width], "height": 800})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            broken_rules[f"{width} {scheme}"] = violations(page)
            overflow = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if overflow > 0:
                broken_rules[f"{width} {scheme}"].append(f"{overflow} px wider than the window")
    if before:
        page.set_viewport_size(before)
    failures = {where: rules for where, rules in broken_rules.items() if rules}
    assert not failures, json.dumps(failures, indent=1)


@pytest.fixture
def page(sit_down: SitDown) -> Page:
    """A page of somebody who has not signed in."""
    desk = sit_down()
    desk.expect_error("404|403|400")
    return desk.context.new_page()


@pytest.mark.parametrize(
    "path",
    sample_params(
        ["/accounts/login/", "/accounts/password/reset/", "/accounts/signup/", "/nowhere/"]
    ),
)
def test_pages_before_signing_in(page: Page, server: Server, path: str) -> None:
    page.goto(server.url + path)
    expect_accessible(page)


@pytest.mark.thorough
def test_signing_in_with_a_wrong_password(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/accounts/login/")
    page.get_by_label("Username").or_(page.get_by_label("Login")).first.fill("nobody")
    page.get_by_label("Password").first.fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").first).to_be_visible()
    expect_accessible(page)


@pytest.mark.thorough
def test_the_setup_and_its_errors(page: Page, site: Site, upstream: FakeUpstream) -> None:
    with site.empty_server(OPENAI_BASE_URL=upstream.base_url) as server:
        page.goto(f"{server.url}/")
        expect_accessible(page)
        page.goto(server.url + server.wait_for(r"(/setup/\w+/)")[1])
        expect_accessible(page)
        for field in page.locator("input:is([type=text], [type=password])").all():
            field.fill("a")
        page.locator("main form button").last.click()
        expect(page.locator("[aria-invalid=true]").first).to_be_visible()
        expect_accessible(page)
        page.close()


@pytest.mark.thorough
@pytest.mark.parametrize("status", [400, 403, "403_csrf", 404, 429, 500, 503])
def test_error_pages(page: Page, server: Server, status: int | str) -> None:
    html = render_to_string(f"{status}.html", {"retry_after": 600})
    page.route("**/failing", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(f"{server.url}/failing")
    expect_accessible(page)


@pytest.mark.parametrize(
    "path",
    sample_params(["/", "/help/", "/accounts/password/change/", "/accounts/logout/", "/nowhere/"]),
)
def test_pages_when_signed_in(desk: Desk, path: str) -> None:
    desk.expect_error("404")
    page = desk.context.new_page()
    page.goto(desk.url + path)
    expect_accessible(page)


# ---- the thread

ENDINGS: dict[str, list[Step]] = {
    "refused": [role(), refusal("I would rather not."), finish(), done()],
    "cut off": [delta("Half of")],
    "filtered": [delta("Half"), finish("content_filter"), done()],
    "nothing": [finish("stop"), done()],
    "calls a tool": [
        role(),
        choice({"tool_calls": [{"index": 0, "id": "1", "function": {"name": "look_up"}}]}),
        choice({"tool_calls": [{"index": 0, "function": {"arguments": '{"a": 1}'}}]}),
        finish("tool_calls"),
        done(),
    ],
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ENDINGS)
def test_an_incomplete_reply(tab: Tab, upstream: FakeUpstream, name: str) -> None:
    upstream.script(*ENDINGS[name])
    tab.ask("Show me\n\n    all of it")
    expect(tab.page.locator("[data-ending]:not([data-ending=streaming])")).to_have_count(1)
    expect_accessible(tab.page)
    for summary in tab.reply.locator("summary:visible").all():
        summary.click()
    expect_accessible(tab.page)


def test_replies_that_stream_are_stopped_fail_and_are_complete(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), reasoning("Hm."), delta("Half of "), Stall())
    tab.ask("Hello?")
    expect(tab.answer).to_have_text("Half of")
    expect_accessible(tab.page)
    tab.stop.click()
    tab.expect_ending("stopped")
    upstream.fail(401, {"error": {"message": "bad key"}})
    tab.ask("Hello?")
    tab.expect_ending("failed")
    upstream.script(role(), reasoning("Hm, **well**."), delta(RICH), finish(), usage(), done())
    tab.ask("Show me\n\n    all of it")
    tab.expect_ending("complete")
    expect_accessible(tab.page)
    for summary in tab.page.locator("[data-reply] summary:visible").all():
        summary.click()
    expect_accessible(tab.page)


@pytest.mark.thorough
def test_a_long_reply_scrolled_away_from_its_end(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta(f"{RICH}\n\n" * 12), finish(), done())
    tab.ask("Much")
    tab.expect_ending("complete")
    tab.page.locator("#scroller").evaluate("scroller => { scroller.scrollTop = 400 }")
    expect(tab.page.get_by_role("button", name="Latest")).to_be_visible()
    expect_accessible(tab.page)


@pytest.mark.thorough
@pytest.mark.parametrize("at", [None, 10, 15])
def test_part_of_a_long_conversation_and_its_outline(
    desk: Desk, server: Server, at: int | None
) -> None:
    assert desk.person
    long = store_long_thread(server, desk.person, 210)
    tab = desk.open(long.path if at is None else f"{long.path}?at={long.id(at)}")
    tab.page.route("**/earlier/**", lambda route: route.abort())
    desk.expect_error("ERR_FAILED|htmx:error|Failed to fetch")
    tab.page.locator("#scroller").evaluate("scroller => { scroller.scrollTop = 0 }")
    expect_accessible(tab.page)
    tab.page.get_by_role("button", name="Outline").click()
    expect(tab.page.get_by_role("dialog").get_by_role("link").first).to_be_visible()
    expect_accessible(tab.page)


# ---- what opens


@pytest.fixture
def hello(tab: Tab, upstream: FakeUpstream) -> Tab:
    """A tab on a conversation."""
    tab.ask("Hello")
    tab.expect_ending("complete")
    return tab


def test_menus_and_dialogs(hello: Tab) -> None:
    hello.page.get_by_role("button", name="Account").click()
    expect_accessible(hello.page)
    hello.page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(hello.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    expect_accessible(hello.page)
    hello.page.keyboard.press("Escape")
    hello.page.get_by_role("combobox", name="Model").click()
    expect(hello.page.get_by_role("dialog", name="Choose a model")).to_be_visible()
    expect_accessible(hello.page)
    hello.page.keyboard.press("Escape")
    hello.page.get_by_role("button", name="Options for Hello").click()
    expect(hello.page.get_by_role("menu", name="Conversation")).to_be_visible()
    expect_accessible(hello.page)
    hello.page.keyboard.press("Escape")
    hello.page.get_by_role("button", name="Hide the sidebar").click()
    hello.page.get_by_role("button", name="More").last.click()
    expect(hello.page.get_by_role("menu", name="Message")).to_be_visible()
    expect_accessible(hello.page)


@pytest.mark.thorough
@pytest.mark.parametrize("item", ["Rename", "Pin", "Move to…", "Select", "Delete"])
def test_what_the_conversation_menu_opens(hello: Tab, item: str) -> None:
    hello.page.get_by_role("button", name="Options for Hello").click()
    hello.page.get_by_role("menuitem", name=item).click()
    expect_accessible(hello.page)


@pytest.mark.thorough
@pytest.mark.parametrize("folder", ["Archive", "Trash"])
def test_the_sidebars_other_lists(hello: Tab, folder: str) -> None:
    hello.page.get_by_role("button", name="Options for Hello").click()
    item = {"Archive": "Archive", "Trash": "Delete"}[folder]
    hello.page.get_by_role("menuitem", name=item).click()
    hello.page.get_by_role("button", name="Account").click()
    hello.page.get_by_role("button", name=folder, exact=True).click()
    expect(hello.page.locator(".conversation")).to_have_count(1)
    expect_accessible(hello.page)


@pytest.mark.thorough
def test_a_project_and_its_settings(hello: Tab) -> None:
    hello.page.get_by_role("button", name="New project").click()
    expect_accessible(hello.page)
    hello.page.get_by_role("textbox", name="Name").fill("Work")
    hello.page.keyboard.press("Enter")
    expect(hello.page.get_by_role("heading", name="Work", level=1)).to_be_visible()
    expect_accessible(hello.page)
    hello.page.get_by_role("button", name="Project settings").click()
    expect_accessible(hello.page)
    hello.page.keyboard.press("Escape")
    hello.ask("In a project")
    hello.expect_ending("complete")
    hello.page.locator(".crumb", has_text="Work").click()
    hello.page.set_viewport_size({"width": 390, "height": 800})
    hello.page.get_by_role("button", name="Options for In a project").click()
    expect(hello.page.get_by_role("menu", name="Conversation")).to_be_visible()
    assert violations(hello.page) == []


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["/", "/people/"])
def test_a_rotated_phone_shows_a_rotated_page(
    chromium: Browser, site: Site, server: Server, path: str
) -> None:
    context = chromium.new_context(bypass_csp=True, viewport={"width": 844, "height": 390})
    context.add_cookies([{"name": "sessionid", "value": site.olive.session, "url": server.url}])
    page = context.new_page()
    page.goto(server.url + path)
    assert violations(page, preload="true") == []
    context.close()


def test_the_sidebar_on_a_phone(sit_down: SitDown, site: Site) -> None:
    tab = sit_down(site.person(), viewport={"width": 390, "height": 800}).open()
    tab.page.get_by_role("button", name="Conversations").click()
    for scheme in SCHEMES:
        tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(tab.page) == []


# ---- administration

STAFF_PAGES = {
    "people": "/people/",
    "a person": "/people/1/",
    "deleting a person": "/people/2/delete/",
    "invitations": "/people/invitations/",
    "groups": "/people/groups/",
    "upstreams": "/settings/models/",
    "a new upstream": "/settings/models/new/",
    "an upstream": "/settings/models/1/",
    "a new tool server": "/settings/tools/new/",
    "the settings": "/settings/",
}


@pytest.fixture
def olive(sit_down: SitDown, site: Site, server: Server) -> Page:
    """The operator's page, after confirming her password."""
    return open_confirmed(sit_down(site.olive).context.new_page(), f"{server.url}/limits/new/")


@pytest.mark.thorough
def test_a_legal_hold_and_an_erasure(olive: Page, site: Site, server: Server) -> None:
    olive.goto(f"{server.url}/people/?q={site.person().username}")
    olive.locator("tbody th a").first.click()
    open_row(olive, "Legal hold")
    olive.get_by_label("Reason").fill("A matter")
    olive.get_by_role("button", name="Set a legal hold").click()
    expect(olive.get_by_text("The legal hold is set")).to_be_visible()
    expect_accessible(olive)
    olive.get_by_role("link", name="Delete…").click()
    expect(olive.get_by_text("This account is under a legal hold")).to_be_visible()
    expect_accessible(olive)
    olive.get_by_role("link", name="Back", exact=True).click()
    open_row(olive, "Legal hold")
    olive.get_by_role("button", name="End the legal hold of").click()
    expect(olive.get_by_text("The legal hold has ended.")).to_be_visible()
    olive.get_by_role("link", name="Delete…").click()
    olive.get_by_role("button", name="Delete permanently").click()
    expect(olive.get_by_role("heading", name="was deleted", level=1)).to_be_visible()
    expect_accessible(olive)


@pytest.mark.parametrize("name", sample_params(STAFF_PAGES))
def test_staff_pages(olive: Page, server: Server, name: str) -> None:
    olive.goto(server.url + STAFF_PAGES[name])
    expect_accessible(olive)


@pytest.mark.thorough
def test_errors_of_a_staff_page(olive: Page, server: Server) -> None:
    olive.goto(f"{server.url}/settings/tools/new/")
    olive.get_by_label("Name").fill("wiki")
    olive.get_by_role("button", name="Connect").click()
    expect(olive.get_by_role("alert")).to_be_visible()
    expect_accessible(olive)


@pytest.mark.thorough
def test_the_test_of_an_upstream(olive: Page, server: Server) -> None:
    olive.goto(f"{server.url}/settings/models/1/test/")
    olive.get_by_role("button", name=re.compile("test", re.I)).click()
    expect(olive.get_by_text(re.compile("serve the app"))).to_be_visible()
    expect_accessible(olive)


def test_a_review(hello: Tab, olive: Page, server: Server) -> None:
    olive.goto(f"{server.url}/review/?show=all")
    expect_accessible(olive)
    olive.locator(".review-list .chat > a").first.click()
    expect_accessible(olive)
    conversation = olive.url.split("/")[4]
    open_in(olive, server.url, conversation)
    expect_accessible(olive)
    olive.get_by_role("button", name="Add a note").last.click()
    expect(olive.get_by_text("Note on the whole chat instead")).to_be_visible()
    olive.get_by_label("Note", exact=True).fill("Long " * 40 + "w" * 200)
    expect_accessible(olive)
    olive.get_by_role("button", name="Add note").click()
    expect(olive.locator(".review-note")).to_be_visible()
    expect_accessible(olive)


@pytest.mark.thorough
def test_a_review_changed_by_a_colleague_meanwhile(
    sit_down: SitDown, hello: Tab, site: Site, server: Server
) -> None:
    conversation = hello.page.url.rstrip("/").rpartition("/")[2]
    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}{address(conversation)}")
    server.run(COLLEAGUE.format(conversation=conversation))
    expect(page.locator("#changes")).to_contain_text("olive claimed it at")
    expect_accessible(page)
    page.get_by_role("button", name="Serious issue").click()
    page.get_by_role("button", name="Give the verdict anyway").click()
    expect(page.get_by_text("Nothing was saved, because this chat")).to_be_visible()
    expect_accessible(page)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("label=0", "Nothing is shown"),
        ("person=nobody-here&since=2026-01-02&until=2026-01-01&cost=much", "No one has this name."),
        ("tool=no_such_tool", "No chats match."),
        ("after=nowhere", "That page doesn't exist."),
    ],
)
def test_a_review_list_without_rows(
    sit_down: SitDown, site: Site, server: Server, query: str, sentence: str
) -> None:
    page = sit_down(site.olive).context.new_page()
    page.goto(f"{server.url}/review/?{query}")
    expect(page.get_by_text(sentence).first).to_be_visible()
    expect_accessible(page)


@pytest.mark.thorough
def test_the_review_before_there_are_any_chats(site: Site, sit_down: SitDown) -> None:
    with site.server() as server:
        page = sit_down(site.olive, url=server.url).context.new_page()
        page.goto(f"{server.url}/review/")
        expect(page.get_by_role("heading", name="Nothing needs a look")).to_be_visible()
        expect_accessible(page)


@pytest.mark.thorough
def test_the_review_policy(olive: Page, server: Server) -> None:
    olive.goto(f"{server.url}/policy/")
    expect_accessible(olive)
    olive.get_by_label("Reviewers may read flagged chats").check()
    olive.get_by_role("button", name="Save policy").click()
    expect(olive.get_by_role("cell", name="Reviewers may read flagged chats")).to_be_visible()
    expect_accessible(olive)
    olive.get_by_label("Reviewers may read every chat").check()
    olive.get_by_role("button", name="Save policy").click()
    expect(olive.get_by_role("row")).to_have_count(4)


@pytest.mark.thorough
def test_retention(olive: Page, server: Server) -> None:
    olive.goto(f"{server.url}/retention/")
    expect_accessible(olive)
    olive.get_by_label("Chats").fill("0")
    olive.get_by_role("button", name="Preview").click()
    expect(olive.get_by_role("alert")).to_be_visible()
    expect_accessible(olive)
    olive.get_by_label("Chats").fill("36500")
    olive.get_by_role("button", name="Preview").click()
    expect(olive.get_by_role("heading", name="What would be deleted")).to_be_visible()
    expect_accessible(olive)
