"""A person at a browser: real Chromium, the real server, a scripted upstream.

No test may cause an error in the browser's console, a violation of the content security policy or a
dialog; a test that provokes an error allows it with `desk.expect_error`.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    BrowserType,
    Dialog,
    Locator,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.support.fake_upstream import FakeUpstream
from tests.support.line import Line
from tests.support.live import PASSWORD, Person, Server, Site

WITH_WINDOWS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without the parts that draw windows, which take half the time; Playwright's own is the same.
NAMES = ("chromium-headless-shell", *WITH_WINDOWS)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # The tabs of a browser share a process, as starting one takes a tenth of a second.
    "--renderer-process-limit=1",
    # A page that a test modified in transit must still be able to open its socket on this machine.
    "--disable-features=LocalNetworkAccessChecks",
]
WAIT_MS = 60_000
# What Chromium and htmx log about an unreachable server.
NETWORK = r"WebSocket connection to|ERR_|htmx:ws:error|Failed to fetch"

expect.set_options(timeout=WAIT_MS)


# At the end of the package it stops Playwright's event loop, which blocks the loops of other tests.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright.chromium)
        yield browser
        browser.close()


def launch_chromium(
    chromium: BrowserType, names: Sequence[str] = NAMES, has_scrollbars: bool = False
) -> Browser:
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        problem = "no Chromium is installed (looked for " + ", ".join(names) + ")"
        if os.environ.get("CHATAPP_TEST_REQUIRE_CHROMIUM") == "1":
            pytest.fail(problem)
        pytest.skip(problem)
    left_out = ["--hide-scrollbars"] if has_scrollbars else []
    return chromium.launch(executable_path=path, args=ARGUMENTS, ignore_default_args=left_out)


@pytest.fixture(scope="package")
def package_upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(package_upstream: FakeUpstream) -> FakeUpstream:
    """The server's upstream, without what an earlier test left."""
    package_upstream.forget()
    return package_upstream


@pytest.fixture(scope="package")
def server(site: Site, package_upstream: FakeUpstream) -> Iterator[Server]:
    """The tests' server, with a long grace for lost tabs and a short one for closed tabs."""
    with site.server(
        OPENAI_BASE_URL=package_upstream.base_url,
        OPENAI_API_KEY="sk-very-secret",
        CHATAPP_DROP_GRACE="600",
        CHATAPP_CLOSE_GRACE="5",
    ) as server:
        yield server


SMALL, LARGE = "alpha", "beta"
LISTED = [
    {
        "id": SMALL,
        "context_length": 2000,
        "architecture": {"input_modalities": ["text"]},
        "supported_parameters": ["tools"],
    },
    {
        "id": LARGE,
        "context_length": 200_000,
        "architecture": {"input_modalities": ["text", "image"]},
    },
    *({"id": name} for name in ("gamma", "delta", "epsilon")),
]


@pytest.fixture(scope="package")
def package_gateway() -> Iterator[FakeUpstream]:
    with FakeUpstream() as gateway:
        gateway.fail_models(200, {"data": LISTED})
        yield gateway


@pytest.fixture
def gateway(package_gateway: FakeUpstream) -> FakeUpstream:
    """An upstream with several models. The first is small and takes no images."""
    package_gateway.forget()
    return package_gateway


@pytest.fixture(scope="package")
def offering(site: Site, package_gateway: FakeUpstream) -> Iterator[Server]:
    """A server with the gateway's models."""
    base_url = package_gateway.base_url
    with site.server(OPENAI_BASE_URL=base_url, OPENAI_API_KEY="sk-very-secret") as server:
        yield server


EQUIP = """
from chatapp.models import ToolServer
ToolServer.objects.create(name="test", transport="stdio", command={command!r})
"""


@pytest.fixture(scope="package")
def server_with_tools(site: Site, package_upstream: FakeUpstream) -> Iterator[Server]:
    """A server with one tool server, whose tools ask for permission."""
    with site.server(
        OPENAI_BASE_URL=package_upstream.base_url,
        OPENAI_API_KEY="sk-very-secret",
        DJANGO_SETTINGS_MODULE="tests.browser.patient",
    ) as server:
        command = f"{sys.executable} -m tests.tools.server stdio"
        server.run(EQUIP.format(command=command))
        yield server


REPLIES = "[...document.querySelectorAll('article[data-reply]')].map((one) => one.dataset.reply)"


class Tab:
    """One browser tab, from its user's point of view."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.message = page.get_by_role("textbox", name="Message")
        self.send = page.get_by_role("button", name="Send")
        self.stop = page.get_by_role("button", name="Stop")
        self.sidebar = page.get_by_role("navigation", name="Conversations")
        self.problem = page.locator("#problem")
        self.connection = page.locator("#connection")
        self._earlier: list[str] = []  # the replies when the newest prompt was sent

    def ask(self, text: str) -> None:
        self.message.fill(text)
        self.submit()

    def submit(self) -> None:
        """Send what the message box has; `reply` is the reply to it from now on."""
        self._earlier = self.page.evaluate(REPLIES)
        self.message.press("Enter")

    @property
    def reply(self) -> Locator:
        """The last reply; after a prompt, the reply to that prompt and never an earlier one."""
        earlier = "".join(f':not([data-reply="{reply}"])' for reply in self._earlier)
        return self.page.locator(f"article[data-reply]{earlier}").last

    def region(self, name: str) -> Locator:
        return self.reply.locator(f'[data-region="{name}"]')

    @property
    def answer(self) -> Locator:
        return self.region("answer")

    def expect_ending(self, ending: str) -> None:
        expect(self.reply).to_have_attribute("data-ending", ending)

    def reload(self) -> None:
        self.page.reload()
        self.until_connected()

    def live_and_reloaded(self) -> Iterator[None]:
        """Run the body of a loop on the page as it is, and again after a reload."""
        yield
        self.reload()
        yield

    def until_connected(self) -> None:
        expect(self.page.locator("#app")).to_have_attribute("data-connection", "open")


class Desk:
    """A person's browser with any number of tabs."""

    def __init__(self, context: BrowserContext, url: str, person: Person | None) -> None:
        self.context = context
        self.url = url
        self.person = person
        self.errors: list[str] = []
        self._expected: list[str] = []
        context.on("console", lambda message: self._record_message(message.type, message.text))
        context.on("weberror", lambda error: self.errors.append(f"uncaught: {error.error}"))
        context.on("dialog", self._dialog)
        if person:
            name = "__Host-sessionid" if url.startswith("https") else "sessionid"
            context.add_cookies([{"name": name, "value": person.session, "url": url}])

    def open(self, path: str = "/") -> Tab:
        tab = Tab(self.context.new_page())
        tab.page.goto(self.url + path)
        tab.until_connected()
        return tab

    def expect_error(self, pattern: str) -> None:
        """Allow errors that the test itself provokes."""
        self._expected.append(pattern)

    def list_unexpected_errors(self) -> list[str]:
        return [e for e in self.errors if not any(re.search(p, e) for p in self._expected)]

    def _record_message(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.errors.append(f"{kind}: {text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog}")
        dialog.dismiss()


SitDown = Callable[..., Desk]


@pytest.fixture
def sit_down(chromium: Browser, server: Server) -> Iterator[SitDown]:
    """Open browsers: `sit_down(person)`, or `sit_down(url=line.url)`; `phone` emulates one this
    size."""
    desks: list[Desk] = []

    def sit_down(
        person: Person | None = None,
        url: str = "",
        viewport: ViewportSize | None = None,
        phone: ViewportSize | None = None,
    ) -> Desk:
        is_phone = phone is not None
        context = chromium.new_context(
            viewport=viewport or phone, is_mobile=is_phone, has_touch=is_phone
        )
        context.set_default_timeout(WAIT_MS)
        desks.append(Desk(context, url or server.url, person))
        return desks[-1]

    yield sit_down
    for desk in desks:
        desk.context.close()
    assert [error for desk in desks for error in desk.list_unexpected_errors()] == []


def open_confirmed(page: Page, address: str) -> Page:
    """Open a staff page, confirming the password if it is asked for."""
    page.goto(address)
    if page.get_by_role("heading", name="Confirm it is you").is_visible():
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Confirm").click()
        page.wait_for_url(address)
    return page


def open_row(page: Page, title: str) -> None:
    """Open the form of a row on a person's page."""
    page.locator("summary").filter(has=page.get_by_text(title, exact=True)).first.click()


@pytest.fixture
def alice(site: Site) -> Person:
    return site.person()


@pytest.fixture
def bob(site: Site) -> Person:
    return site.person()


@pytest.fixture
def desk(sit_down: SitDown, alice: Person) -> Desk:
    """Alice's browser."""
    return sit_down(alice)


@pytest.fixture
def tab(desk: Desk) -> Tab:
    """Alice's tab, on a new chat."""
    return desk.open()


@pytest.fixture
def line(server: Server) -> Iterator[Line]:
    with Line(server) as line:
        yield line
