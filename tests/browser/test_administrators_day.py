"""An administrator's first day, from the link in the terminal to an audit log of all of it."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Desk, SitDown, Tab, open_row
from tests.browser.test_people import NEW
from tests.support.fake_upstream import FakeUpstream, delta, done, finish, role, usage
from tests.support.live import Server, Site

SECRET = "What does my colleague earn?"
ANSWER = "I say nothing."
DAY = (
    "olga added the account olga",
    "olga added the provider Team gateway",
    "olga changed access to Team gateway",
    "olga changed the provider Demo",
    "olga changed the review policy: Reviewers may read flagged chats",
    "olga changed the review policy: Reviewers may read every chat",
    "olga added the group Writers",
    "olga invited",
    "ravi joined",
    "olga added the limit 100,000 tokens a month for the group Writers",
    "olga changed the role of olga",
)
STAFF = ("people", "people/groups", "usage", "limits", "policy", "retention", "audit", "settings")


def test_from_the_setup_link_to_a_log_of_the_day(sit_down: SitDown, site: Site) -> None:
    with site.empty_server() as server, FakeUpstream() as gateway:
        gateway.models = ["swift", "slow"]
        page = sit_down(url=server.url).context.new_page()
        make_the_first_account(page, server)
        connect(page, gateway)
        own = Tab(page)
        own.until_connected()
        own.ask("Is anybody there?")
        own.expect_ending("complete")

        set_the_policy(page)
        tab = accept(sit_down(url=server.url), invite(page))
        set_a_limit(page)
        gateway.script(role(), delta(ANSWER), finish(), usage(10, 20), done())
        tab.ask(SECRET)
        tab.expect_ending("complete")
        conversation = tab.page.url.rstrip("/").rpartition("/")[2]
        tab.page.close()
        page.reload()
        row = page.get_by_role("row", name="100,000 tokens a month")
        expect(row).to_contain_text("99,970 of 100,000 tokens left")
        expect(row.get_by_role("meter")).to_be_visible()
        page.get_by_role("link", name="Usage", exact=True).click()
        page.get_by_role("link", name="By Person").click()
        expect(page.get_by_role("row", name="ravi")).to_contain_text("20")

        give_up_the_reviewer_role(page)
        page.get_by_role("link", name="Audit", exact=True).click()
        expect(page.get_by_role("listitem").filter(has_text="changed the role")).to_be_visible()
        events = " ".join(page.get_by_role("region", name="Newest events").all_inner_texts())
        places = [events.rfind(sentence) for sentence in DAY]
        assert -1 not in places, events
        assert places == sorted(places, reverse=True)
        invited = page.get_by_role("listitem").filter(has_text="olga invited")
        invited.get_by_text("Details").click()
        for label in ("Reviewer", "Writers"):
            expect(invited.get_by_text(label, exact=True)).to_be_visible()
        expect_nothing_to_read(page, server, conversation)


def make_the_first_account(page: Page, server: Server) -> None:
    page.goto(server.url + server.wait_for(r"(/setup/\w+/)")[1])
    page.get_by_label("Username").focus()
    page.keyboard.type("olga")
    for field in page.locator("input[type=password]").all():
        field.fill(NEW)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{server.url}/")


def connect(page: Page, gateway: FakeUpstream) -> None:
    page.get_by_role("link", name="Connect a provider").click()
    page.get_by_label("Name").fill("Team gateway")
    page.get_by_label("Address").fill(gateway.base_url)
    page.get_by_label("API key").fill("sk-of-the-team")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Connected. It lists 2 models.")).to_be_visible()
    page.get_by_role("button", name="Run test").click()
    expect(page.get_by_text("It can serve the app.")).to_be_visible()
    page.get_by_role("link", name="Choose models").click()
    page.get_by_label("Only these").check()
    page.get_by_role("checkbox", name="swift").check()
    page.get_by_label("Everybody").check()
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_text("Team gateway is connected")).to_be_visible()


def set_the_policy(page: Page) -> None:
    page.get_by_role("button", name="Account:").click()
    page.get_by_role("link", name="Administration").click()
    page.get_by_role("link", name="Policy", exact=True).click()
    page.get_by_label("Reviewers may read flagged chats").check()
    page.get_by_role("button", name="Save policy").click()
    page.get_by_label("Reviewers may read every chat").check()
    page.get_by_role("button", name="Save policy").click()
    expect(page.get_by_role("row")).to_have_count(4)


def invite(page: Page) -> str:
    """Invite a reviewer into a new group; return the link."""
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_role("link", name="Groups", exact=True).click()
    page.get_by_label("Name").fill("Writers")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Writers")).to_be_visible()
    page.get_by_role("link", name="Invitations").click()
    page.get_by_label("Group").select_option(label="Writers")
    page.get_by_label("As a reviewer").check()
    page.get_by_role("button", name="Invite").click()
    return page.get_by_label("Link").input_value()


def accept(desk: Desk, link: str) -> Tab:
    page = desk.context.new_page()
    page.goto(link)
    expect(page.get_by_text("will be a reviewer")).to_be_visible()
    page.get_by_label("Username").fill("ravi")
    for field in page.locator("input[type=password]").all():
        field.fill(NEW)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{desk.url}/")
    tab = Tab(page)
    tab.until_connected()
    return tab


def set_a_limit(page: Page) -> None:
    page.get_by_role("link", name="Limits", exact=True).click()
    page.get_by_role("link", name="New limit").click()
    page.get_by_label("Amount").fill("100000")
    page.get_by_label("For", exact=True).select_option(label="A group together")
    page.get_by_label("Group").select_option(label="Writers")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Limit added: 100,000 tokens a month")


def give_up_the_reviewer_role(page: Page) -> None:
    """Remove the reviewer role, which the first account has until somebody else reviews."""
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_role("link", name="olga", exact=True).click()
    open_row(page, "Role")
    page.get_by_role("button", name="Remove as reviewer").click()
    expect(page.get_by_role("status")).to_have_text("olga is now an administrator.")
    expect(page.get_by_role("link", name="Review", exact=True)).to_have_count(0)


def expect_nothing_to_read(page: Page, server: Server, conversation: str) -> None:
    """Check that no staff page shows the chat, and that its own pages refuse administrators."""
    for path in STAFF:
        answer = page.request.get(f"{server.url}/{path}/")
        assert answer.ok
        assert SECRET not in answer.text()
        assert ANSWER not in answer.text()
    for path in ("review/", f"review/{conversation}/", f"c/{conversation}/"):
        answer = page.request.get(f"{server.url}/{path}")
        assert answer.status in (403, 404)
        assert SECRET not in answer.text()
