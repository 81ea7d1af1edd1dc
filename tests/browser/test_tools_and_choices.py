"""Content between a prompt and its answer, or beside it: tools, retries, choices, confidence."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NETWORK, Desk, SitDown, Tab
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Step,
    choice,
    chunk,
    delta,
    done,
    finish,
    role,
    usage,
)
from tests.support.line import Line
from tests.support.live import Person, Server

PARAMETERS = """
from chatapp.models import Upstream
Upstream.objects.update(parameters={parameters!r})
"""


@pytest.fixture(scope="module", autouse=True)
def several_choices(server_with_tools: Server) -> Iterator[None]:
    """Let each request ask for two choices and their confidence."""
    server_with_tools.run(PARAMETERS.format(parameters={"n": 2, "logprobs": True}))
    yield
    server_with_tools.run(PARAMETERS.format(parameters={}))


@pytest.fixture
def desk(sit_down: SitDown, alice: Person, server_with_tools: Server) -> Desk:
    return sit_down(alice, url=server_with_tools.url)


@pytest.fixture
def tab(desk: Desk, upstream: FakeUpstream) -> Tab:
    return desk.open()


def call(name: str, **arguments: object) -> list[Step]:
    """Return the steps of a reply that calls a tool, with arguments in two pieces."""
    text = json.dumps(arguments)
    pieces = [{"index": 0, "id": "call_1", "function": {"name": name, "arguments": text[:4]}}]
    pieces.append({"index": 0, "function": {"arguments": text[4:]}})
    deltas = [choice({"tool_calls": [piece]}) for piece in pieces]
    return [role(), *deltas, finish("tool_calls"), usage(), done()]


def test_an_allowed_tool_runs_and_folds(tab: Tab, upstream: FakeUpstream) -> None:
    answering = Pause()
    upstream.fail(503, "busy", {"retry-after": "0"})
    upstream.script(*call("test__echo", text="<b>as it is</b>"))
    upstream.script(role(), answering, delta("It said so."), finish(), usage(), done())
    tab.ask("Echo this")
    region = tab.region("tool-call")
    expect(region).to_have_attribute("data-state", "asking")
    expect(region).to_contain_text("<b>as it is</b>")
    expect(tab.page.locator("#announcer")).to_contain_text("Allow the model to call Echo from Test")
    expect(tab.message).to_be_focused()
    region.get_by_role("button", name="Allow", exact=True).focus()
    tab.page.keyboard.press("Enter")
    expect(region).to_have_attribute("data-state", "done")
    expect(region).not_to_have_attribute("open", "")
    expect(region.locator("summary")).to_be_focused()
    expect(tab.reply.locator(".waiting")).to_contain_text("Waiting for")
    answering.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("It said so.")
    expect(tab.reply.locator(".usage")).to_have_text("60 tokens")
    tab.page.keyboard.press("Enter")
    expect(region.locator("pre").last).to_have_text("<b>as it is</b>")


def test_a_tool_is_always_allowed_in_a_chat_and_switched_off(
    tab: Tab, upstream: FakeUpstream
) -> None:
    for _ in range(2):
        upstream.script(*call("test__echo", text="hello"))
        upstream.script(role(), delta("It said so."), finish(), usage(), done())
    tab.ask("Echo this")
    tab.region("tool-call").get_by_role("button", name="Always allow in this chat").click()
    tab.expect_ending("complete")
    tab.ask("And again")
    tab.expect_ending("complete")
    assert [row["role"] for row in upstream.chat_requests[3].body["messages"]].count("tool") == 2
    tab.page.get_by_role("button", name="Chat settings").click()
    tab.page.get_by_role("button", name="Ask again before Echo").click()
    expect(tab.page.locator(".allowed-tools")).to_have_count(0)
    tab.page.get_by_role("button", name="Tools", exact=True).click()
    tab.page.get_by_role("switch", name="Test").uncheck()
    tab.page.keyboard.press("Escape")
    expect(tab.page.get_by_role("button", name="Tools (1 off)")).to_be_visible()
    tab.page.reload()
    tab.page.get_by_role("button", name="Tools (1 off)").click()
    expect(tab.page.get_by_role("switch", name="Test")).not_to_be_checked()
    tab.page.keyboard.press("Escape")
    upstream.script(role(), delta("Without tools."), finish(), usage(), done())
    tab.ask("And now")
    tab.expect_ending("complete")
    offered = upstream.chat_requests[-1].body.get("tools", [])
    assert not any(tool["function"]["name"].startswith("test__") for tool in offered)


@pytest.mark.thorough
def test_permission_given_in_a_silent_network_is_kept_and_sent_later(
    sit_down: SitDown, alice: Person, server_with_tools: Server, upstream: FakeUpstream
) -> None:
    with Line(server_with_tools) as line:
        desk = sit_down(alice, line.url)
        desk.expect_error(NETWORK)
        tab = desk.open()
        upstream.script(*call("test__echo", text="hello"))
        upstream.script(role(), delta("It said so."), finish(), usage(), done())
        tab.ask("Echo this")
        allow = tab.region("tool-call").get_by_role("button", name="Allow", exact=True)
        expect(allow).to_be_visible()
        line.hush()
        allow.click()
        line.forget()
        line.mend()
        tab.expect_ending("complete")
        expect(tab.region("tool-call")).to_have_attribute("data-state", "done")


def test_a_denied_tool_does_not_run(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(*call("test__echo", text="secret"))
    upstream.script(role(), delta("Then not."), finish(), usage(), done())
    tab.ask("Echo this")
    tab.region("tool-call").get_by_role("button", name="Deny").click()
    tab.expect_ending("complete")
    expect(tab.region("tool-call")).to_have_attribute("data-state", "denied")
    expect(tab.region("tool-call").locator("summary")).to_contain_text("not allowed")
    expect(tab.answer).to_have_text("Then not.")
    assert "denied" in upstream.chat_requests[1].body["messages"][-1]["content"]
    expect(tab.message).to_be_focused()


@pytest.mark.thorough
def test_confidence_is_one_press_away_and_one_tab_stop(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(
        role(), token("Sure, ", -0.01), token("perhaps", -2.0), finish(), usage(), done()
    )
    tab.ask("How sure?")
    tab.expect_ending("complete")
    tab.reply.locator("summary", has=tab.page.locator("[href$='#icon-percent']")).press("Enter")
    tokens = tab.reply.locator(".token-line > .token")
    expect(tokens).to_have_text(["Sure, ", "perhaps"])
    expect(tokens.nth(1)).to_have_class("token p1")
    expect(tokens.nth(1)).to_have_attribute("title", re.compile(r"^13\.5%"))
    tab.page.keyboard.press("Tab")
    expect(tokens.nth(0)).to_be_focused()
    tab.page.keyboard.press("ArrowRight")
    expect(tokens.nth(1)).to_be_focused()
    tab.page.keyboard.press("Tab")
    expect(tab.reply.locator(".about > summary")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tokens.nth(0)).to_be_hidden()
    expect(tab.reply.locator(".about dl")).to_contain_text("chatcmpl-1")


def test_a_person_steps_through_the_choices_of_a_reply(tab: Tab, upstream: FakeUpstream) -> None:
    words = [build_chunk(index, f"Choice {index}") for index in (0, 1)]
    ends = [build_chunk(index, finish_reason="stop") for index in (0, 1)]
    upstream.script(role(), *words, *ends, usage(), done())
    tab.ask("Twice")
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Choice 0")
    choices = tab.reply.get_by_role("group", name="Other replies to this prompt")
    expect(choices).to_contain_text("1 / 2")
    choices.get_by_role("button", name="Next reply").press("Enter")
    expect(tab.answer).to_have_text("Choice 1")
    expect(choices).to_contain_text("2 / 2")
    expect(choices.get_by_role("button", name="Previous reply")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.answer).to_have_text("Choice 0")


@pytest.mark.thorough
def test_a_retry_is_announced_while_it_is_pending(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.fail(503, {"error": {"message": "overloaded"}}, {"retry-after": "2"})
    tab.ask("Try this")
    notice = "The model's server failed. Trying again in 2 s (try 2)…"
    expect(tab.reply.locator(".waiting")).to_have_text(notice)
    expect(tab.page.locator("#announcer")).to_have_text(notice)
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Packets in flight")
    expect(tab.reply.locator(".waiting")).to_have_count(0)


@pytest.mark.thorough
def test_a_folded_sidebar_stays_folded_before_any_script_runs(desk: Desk, tab: Tab) -> None:
    tab.page.get_by_role("button", name="Hide the sidebar").click()
    page = desk.context.request.get(desk.url)
    assert 'data-sidebar="closed"' in page.text()
    tab.reload()
    expect(tab.page.locator("#sidebar")).to_be_hidden()
    tab.page.get_by_role("button", name="Conversations").click()
    expect(tab.page.locator("#sidebar")).to_be_visible()
    assert 'data-sidebar="closed"' not in desk.context.request.get(desk.url).text()


def token(text: str, logprob: float) -> bytes:
    entry = {"token": text, "logprob": logprob, "bytes": list(text.encode()), "top_logprobs": []}
    content = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return chunk([{**content, "logprobs": {"content": [entry], "refusal": None}}])


def build_chunk(index: int, text: str = "", finish_reason: str | None = None) -> bytes:
    says = {"content": text} if text else {}
    return chunk([{"index": index, "delta": says, "finish_reason": finish_reason}])
