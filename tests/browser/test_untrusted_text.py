"""Text of a model, a tool or another person cannot act for anybody, in the real page.

First the corpus, over the socket and after a reload. Then the page's own defences alone, with the
server's sanitising undone on the way between server and browser.
"""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, WebSocket, WebSocketRoute, expect

from chatapp.rendering.markdown.allowed import ALLOWED
from tests.browser.conftest import Desk, SitDown, Tab
from tests.security.payloads import PAYLOADS, SETS, TOOL_SERVER
from tests.support.fake_upstream import (
    FakeUpstream,
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
from tests.support.live import Person, Server, Site
from tests.support.profile import choose_size

AT_ONCE = 60  # payloads per reply
CORPUS = choose_size({"some of each set": PAYLOADS[::20]}, SETS)
OWN_PATH = re.compile(r"/(?:|c/[0-9a-f-]{36}/|conversations/|static/[\w./-]+|ws/)\Z")
COUNT_TOOL_SERVERS = """
from chatapp.models import ToolServer
print(ToolServer.objects.count())
"""
# The elements below foreign text as [tag, [name, value]…], without the page's own copy buttons.
FOREIGN_ELEMENTS = """
[...document.querySelectorAll("[hx-ignore] *")]
  .filter((element) => !element.closest(".code > .copy-code:first-child"))
  .map((element) => [element.localName, [...element.attributes].map((a) => [a.name, a.value])])
"""


class Witness:
    """Records what a person's pages request and send."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.paths: list[str] = []
        self.sent: list[dict[str, object]] = []
        desk.context.on("request", lambda request: self.paths.append(self._path(request.url)))
        desk.context.on("page", lambda page: page.on("websocket", self._socket))

    def _socket(self, socket: WebSocket) -> None:
        self.paths.append(self._path(socket.url.replace("ws", "http", 1)))
        socket.on("framesent", lambda data: self.sent.append(json.loads(data)))

    @property
    def actions(self) -> list[object]:
        """The actions that were sent, without the heartbeats that a slow machine's pages add."""
        return [sent["action"] for sent in self.sent if sent["action"] != "beat"]

    def _path(self, url: str) -> str:
        """Return the path of a URL of this server without its query; other URLs unchanged."""
        return url.removeprefix(self.desk.url).partition("?")[0]

    def check(self, page: Page) -> None:
        """Check that nothing ran, no foreign request was made, and foreign text is on the
        allowlist."""
        assert page.evaluate("window.__pwned") is None
        assert {path for path in self.paths if not OWN_PATH.match(path)} == set()
        elements = page.evaluate(FOREIGN_ELEMENTS)
        assert elements
        assert [element for element in elements if not is_listed(*element)] == []


def is_listed(tag: str, attributes: list[tuple[str, str]]) -> bool:
    forms = ALLOWED.get(tag, {})
    return tag in ALLOWED and all(
        name in forms and forms[name].fullmatch(value) for name, value in attributes
    )


@pytest.fixture
def desk(sit_down: SitDown, alice: Person, server_with_tools: Server) -> Desk:
    return sit_down(alice, url=server_with_tools.url)


@pytest.fixture
def witness(desk: Desk) -> Witness:
    return Witness(desk)


def in_pieces(write: Callable[[str], Step], texts: list[str]) -> list[Step]:
    return [write(piece) for t in texts for piece in (t[: len(t) // 2], t[len(t) // 2 :] + "\n\n")]


def call(**arguments: object) -> Step:
    function = {"name": "test__echo", "arguments": json.dumps(arguments)}
    return choice({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]})


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_executes_nothing(
    name: str, desk: Desk, witness: Witness, upstream: FakeUpstream
) -> None:
    """As prompt, title, reasoning, answer, arguments, result and refusal; live and reloaded."""
    tried = 0
    for start in range(0, len(CORPUS[name]), AT_ONCE):
        payloads = CORPUS[name][start : start + AT_ONCE]
        text = "\n\n".join(payloads)
        upstream.script(
            role(),
            *in_pieces(reasoning, payloads),
            *in_pieces(delta, payloads),
            call(text=text),
            finish("tool_calls"),
            done(),
        )
        upstream.script(role(), *in_pieces(refusal, payloads), finish(), usage(), done())
        tab = desk.open()
        tab.ask(text.replace("\0", ""))  # no prompt may contain NUL
        tab.region("tool-call").get_by_role("button", name="Allow", exact=True).click()
        expect(tab.reply).not_to_have_attribute("data-ending", "streaming")
        expect(tab.region("tool-call")).to_have_attribute("data-state", "done")
        witness.check(tab.page)
        tab.reload()
        expect(tab.region("refusal")).to_be_visible()
        witness.check(tab.page)
        tab.page.close()
        tried += len(payloads)
    print(f"{name}: {tried} tried, none executed")


def test_a_reply_on_an_administrators_screen_adds_no_tool_server(
    sit_down: SitDown, site: Site, server_with_tools: Server, upstream: FakeUpstream
) -> None:
    desk = sit_down(site.olive, url=server_with_tools.url)
    witness = Witness(desk)
    tab = desk.open()
    fields = "name:pwned,transport:stdio,command:id,timeout_seconds:9,result_limit_kb:9"
    attack = (
        f"""[.](http://a '$" hx-post="{TOOL_SERVER}" hx-trigger="load" hx-swap="none" """
        f"""hx-include="[name=csrfmiddlewaretoken]" hx-vals="{fields}" z="$')"""
    )
    for write in (delta, reasoning, refusal):
        upstream.script(role(), write(attack), finish(), usage(), done())
        tab.ask(attack)
        expect(tab.reply).not_to_have_attribute("data-ending", "streaming")
    tab.reload()
    assert server_with_tools.run(COUNT_TOOL_SERVERS).strip() == "1"
    witness.check(tab.page)


def test_a_model_cannot_allow_its_own_call(
    desk: Desk, witness: Witness, upstream: FakeUpstream
) -> None:
    attack = (
        """[.](http://a '$" hx-ws:send hx-trigger="load delay:300ms" """
        """hx-include="[name=conversation]" hx-vals="action:allow,round:0,call:0" z="$')"""
    )
    upstream.script(role(), delta(attack), call(text="x"), finish("tool_calls"), done())
    upstream.script(role(), delta(attack), finish(), usage(), done())
    tab = desk.open()
    tab.ask("Call it")
    expect(tab.region("tool-call")).to_have_attribute("data-state", "asking")
    tab.page.wait_for_timeout(600)  # time in which the attack would be sent
    tab.region("tool-call").get_by_role("button", name="Deny").click()
    expect(tab.region("tool-call")).to_have_attribute("data-state", "denied")
    tab.expect_ending("complete")  # or the next test's script would answer the second round
    assert witness.actions == ["prompt", "deny"]


def test_text_cannot_change_which_conversation_a_frame_belongs_to(
    desk: Desk, witness: Witness, upstream: FakeUpstream
) -> None:
    text = 'An id="composer-state" and data-url="/c/nowhere/" in one line.'
    upstream.script(role(), *in_pieces(delta, [text] * 3), finish(), usage(), done())
    tab = desk.open()
    tab.ask(text)
    tab.expect_ending("complete")
    expect(tab.answer.locator("p")).to_have_text([text] * 3)
    tab.ask("And now?")
    expect(tab.page.locator("[data-reply]")).to_have_count(2)
    tab.expect_ending("complete")
    assert witness.actions == ["prompt", "prompt"]


# ---- the page's own defences

PLACEHOLDER = "foreign-text-here"
FORGED = (
    '{"action": "prompt", "message": "forged", "prompt": "6f1d1f9e-0000-4000-8000-000000000000"}'
)
HOSTILE = f"""<p>before</p>
<i hx-get="/help/?get" hx-trigger="load">x</i>
<i hx-post="{TOOL_SERVER}" hx-trigger="load" hx-include="[name=csrfmiddlewaretoken]">x</i>
<i data-hx-get="/help/?data" data-hx-trigger="load">x</i>
<i hx-on::load="window.__pwned = 1" hx-on:click="window.__pwned = 1" class="click-me">x</i>
<i hx-ws:send hx-trigger="load" hx-vals='{FORGED}'>x</i>
<i ws-send hx-trigger="load" hx-vals='{FORGED}'>x</i>
<i data-hx-ws:send data-hx-trigger="load" data-hx-vals='{FORGED}'>x</i>
<i hx-ws:connect="/ws/?forged" hx-trigger="load">x</i>
<i hx-swap-oob="innerHTML:#title">forged</i>
<i data-hx-swap-oob="innerHTML:#title">forged</i>
<hx-partial hx-target="#title">forged</hx-partial>
<i id="connection" hx-preserve>forged</i>
<i id="composer-state" data-url="/c/forged/" data-title="forged"><b name="conversation">x</b></i>
<i id="problem">x</i> <i id="announcer">x</i> <i id="message">x</i> <i id="messages">x</i>
<i data-reply="forged" data-ending="streaming">x</i>
<input form="composer" name="message" value="forged">
<input form="composer" name="action" value="stop">
<button type="button" class="click-me" data-suggestion>forged</button>
<button type="button" class="click-me" data-sidebar-toggle>forged</button>
<button type="button" class="click-me" data-copy-text="forged">forged</button>
<button type="button" class="click-me" data-copy="composer">forged</button>
<button type="button" class="click-me" hx-ws:send hx-vals='{FORGED}'>forged</button>
<a class="click-me" hx-boost="true" hx-get="/help/?boosted" href="#x">forged</a>
<template><i hx-ws:send id="title">x</i></template>
<span class="waiting">forged</span> <div class="notice"><p>forged</p></div>
<b autofocus tabindex="0">x</b><p>after</p>"""


@pytest.fixture
def hostile_desk(desk: Desk) -> Desk:
    """Alice's pages, with hostile HTML in place of the upstream's PLACEHOLDER."""

    def answer(route: Route) -> None:
        if route.request.resource_type not in ("document", "fetch", "xhr"):
            return route.fallback()
        response = route.fetch(max_redirects=0)
        if response.status != 200:
            return route.fulfill(response=response)
        return route.fulfill(response=response, body=with_hostile(response.text()))

    def pass_on(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda data: socket.send(with_hostile(str(data))))

    desk.context.route("**/*", answer)
    desk.context.route_web_socket("**/ws/**", pass_on)
    return desk


def with_hostile(html: str) -> str:
    return html.replace(PLACEHOLDER, HOSTILE)


def test_hostile_html_is_inert_even_if_not_sanitised(
    hostile_desk: Desk, witness: Witness, upstream: FakeUpstream
) -> None:
    tab = hostile_desk.open()
    upstream.script(
        role(),
        reasoning(f"{PLACEHOLDER}\n\n"),
        delta(f"Yes {PLACEHOLDER}.\n\nAnd\n\n{PLACEHOLDER}\n\n"),
        refusal(PLACEHOLDER),
        finish(),
        usage(),
        done(),
    )
    question = "Question" + " after question" * 9 + PLACEHOLDER  # too long to be in the title whole
    tab.ask(question)
    expect(tab.reply).not_to_have_attribute("data-ending", "streaming")
    check_inert(tab)
    tab.page.wait_for_url("**/c/**")
    tab.ask("The second")
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Packets in flight")
    tab.reload()
    check_inert(tab)
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.page.locator("article")).to_have_count(0)
    tab.page.go_back()  # htmx fetches the page again
    expect(tab.reply).to_be_attached()
    tab.until_connected()
    check_inert(tab)
    prompts = [sent["message"] for sent in witness.sent if sent["action"] == "prompt"]
    assert prompts == [question, "The second"]
    assert set(witness.actions) <= {"prompt", "watch"}
    assert {path for path in witness.paths if not OWN_PATH.match(path)} == set()
    # A request is repeated if its connection was lost before a response.
    reached = {request.body["messages"][-1]["content"] for request in upstream.chat_requests}
    assert reached == {question, "The second"}


def check_inert(tab: Tab) -> None:
    page = tab.page
    region = page.locator("[data-region=answer]").first
    expect(region).to_contain_text("before")
    expect(region).to_contain_text("after")
    for button in region.locator(".click-me").all():
        button.dispatch_event("click")
    expect(page.locator("#title")).to_contain_text("Question")
    expect(page.locator("#title")).not_to_contain_text("forged")
    expect(page.locator("#announcer")).not_to_contain_text("forged")
    expect(page.locator("#announcer")).not_to_contain_text("Copied")
    expect(page.locator("#sidebar")).to_be_visible()
    expect(page.locator("#main #connection")).to_have_count(1)
    expect(tab.problem).to_have_text("")
    assert page.evaluate("window.__pwned") is None
    assert page.evaluate("new FormData(document.getElementById('composer')).getAll('message')") == [
        ""
    ]
