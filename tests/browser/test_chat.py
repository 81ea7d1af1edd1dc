"""A person's whole path: sign in, send a prompt, read, stop, leave and come back."""

import pytest
from playwright.sync_api import expect

from chatapp.models.platform.upstreams import NOT_OFFERED
from chatapp.realtime.generation.retries import TRIES
from tests.browser.conftest import Desk, SitDown, Tab
from tests.support.fake_upstream import (
    Close,
    FakeUpstream,
    Pause,
    Stall,
    delay_frames,
    delta,
    done,
    error,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.live import PASSWORD, Person
from tests.support.profile import sample_params

WORDS = [f"word{number} " for number in range(60)]
TEXT = "".join(WORDS).strip()


def test_a_person_signs_in_and_types(
    sit_down: SitDown, alice: Person, upstream: FakeUpstream
) -> None:
    desk = sit_down()
    page = desk.context.new_page()
    page.goto(desk.url)
    page.get_by_label("Username").or_(page.get_by_label("Login")).first.fill(alice.username)
    page.get_by_label("Password").first.fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    tab = Tab(page)
    tab.until_connected()
    expect(tab.message).to_be_focused()
    tab.message.type("Why is the sky blue?")
    tab.message.press("Enter")
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Packets in flight")


def test_reasoning_is_open_until_the_answer_begins(tab: Tab, upstream: FakeUpstream) -> None:
    thinking, answering = Pause(), Pause()
    upstream.script(
        role(),
        reasoning("Rayleigh, I think."),
        thinking,
        delta("It **scatters**.\n\n* one\n"),
        answering,
        delta("* two\n"),
        finish(),
        usage(),
        done(),
    )
    tab.ask("Why is the sky blue?")
    region = tab.region("reasoning")
    expect(region).to_have_attribute("open", "")
    expect(region).to_contain_text("Rayleigh, I think.")
    expect(region.locator("summary")).to_have_text("Thinking…")
    thinking.release()
    expect(tab.answer.locator("strong")).to_have_text("scatters")
    expect(region).not_to_have_attribute("open", "")
    expect(region.locator("summary")).to_contain_text("Thought for")
    answering.release()
    tab.expect_ending("complete")
    expect(tab.answer.locator("li")).to_have_text(["one", "two"])
    expect(tab.reply.locator('[data-usage="reported"]')).to_have_text("30 tokens")


def test_the_prompt_appears_at_once_and_the_box_is_free(tab: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), pause, delta("Here."), finish(), done())
    tab.ask("Where?")
    expect(tab.page.locator(".prompt")).to_have_text("YouWhere?")
    expect(tab.message).to_have_value("")
    tab.message.fill("A second thought")
    tab.message.press("Enter")
    expect(tab.message).to_have_value("A second thought")
    pause.release()
    tab.expect_ending("complete")
    expect(tab.message).to_have_value("A second thought")
    assert len(upstream.chat_requests) == 1


def test_streamed_text_stays_one_text_node_and_needs_no_swap(
    tab: Tab, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), *delay_frames(map(delta, WORDS), 0.01), pause, finish(), done())
    tab.page.evaluate("""() => {
      window.came = window.swaps = 0;
      document.addEventListener("htmx:ws:before:message:incoming", () => came++);
      document.addEventListener("htmx:before:swap", () => swaps++);
    }""")
    tab.ask("Count")
    expect(tab.answer).to_have_text(TEXT)
    assert tab.answer.locator("p").evaluate("p => p.childNodes.length") == 1
    assert tab.page.evaluate("swaps") < tab.page.evaluate("came") / 2
    pause.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text(TEXT)


@pytest.mark.parametrize("by", sample_params(["button", "Escape"]))
def test_stop_closes_the_upstream_request_and_keeps_the_text(
    tab: Tab, upstream: FakeUpstream, by: str
) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    tab.ask("Go on")
    request = upstream.wait_for_request()
    expect(tab.answer).to_have_text("Half of it")
    if by == "button":
        tab.stop.click()
    else:
        tab.page.keyboard.press("Escape")
    assert request.wait_for_close().was_streaming
    tab.expect_ending("stopped")
    expect(tab.answer).to_have_text("Half of it")
    expect(tab.reply).to_contain_text("Stopped.")
    expect(tab.reply.locator('[data-usage="estimated"]')).to_contain_text("estimated")
    expect(tab.message).to_be_focused()


def test_a_reload_in_mid_reply_shows_every_word_once(tab: Tab, upstream: FakeUpstream) -> None:
    first, second = Pause(), Pause()
    upstream.script(
        role(),
        *map(delta, WORDS[:20]),
        first,
        *map(delta, WORDS[20:40]),
        second,
        *map(delta, WORDS[40:]),
        finish(),
        usage(),
        done(),
    )
    tab.ask("Count")
    expect(tab.answer).to_contain_text("word19")
    first.release()
    tab.reload()
    expect(tab.answer).to_contain_text("word39")
    second.release()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text(TEXT)
    tab.reload()
    expect(tab.answer).to_have_text(TEXT)


def test_closing_the_tab_closes_the_upstream_request_and_keeps_the_chat(
    desk: Desk, tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    tab.ask("A question to leave")
    request = upstream.wait_for_request()
    expect(tab.answer).to_have_text("Half of it")
    tab.page.close()
    assert request.wait_for_close().was_streaming
    again = desk.open()
    again.sidebar.get_by_role("link", name="A question to leave").click()
    again.expect_ending("abandoned")
    expect(again.answer).to_have_text("Half of it")
    expect(again.reply.get_by_role("link", name="Finish replies instead?")).to_be_visible()
    expect(again.reply.get_by_role("button", name="Continue")).to_be_visible()


def test_a_reply_continues_while_another_conversation_is_shown(
    tab: Tab, upstream: FakeUpstream
) -> None:
    tab.ask("The first one")
    tab.expect_ending("complete")
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    tab.page.get_by_role("link", name="New chat").click()
    expect(tab.page.locator("article")).to_have_count(0)
    tab.ask("The second one")
    expect(tab.answer).to_contain_text("Half of")
    running = tab.sidebar.locator("li:has(.running)")
    tab.sidebar.get_by_role("link", name="The first one").click()
    expect(tab.answer).to_have_text("Packets in flight")
    expect(running).to_contain_text("The second one")
    pause.release()
    expect(running).to_have_count(0)
    expect(tab.answer).to_have_text("Packets in flight")
    tab.sidebar.get_by_role("link", name="The second one").click()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Half of it")


@pytest.mark.parametrize(
    ("status", "headers", "sentence"),
    sample_params(
        [
            (401, {}, "refused the key"),
            (429, {"retry-after": "80"}, "Try again in 80 s"),
            (500, {}, "server failed"),
        ]
    ),
)
def test_an_error_is_explained_and_can_be_retried(
    tab: Tab, upstream: FakeUpstream, status: int, headers: dict[str, str], sentence: str
) -> None:
    for _ in range(TRIES if status >= 500 else 1):
        upstream.fail(status, {"error": {"message": "its own words"}}, headers)
    tab.ask("Try this")
    tab.expect_ending("failed")
    expect(tab.reply.get_by_role("alert")).to_contain_text(sentence)
    expect(tab.reply.get_by_role("alert")).to_contain_text("its own words")
    tab.reply.get_by_role("button", name="Retry").click()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Packets in flight")
    expect(tab.page.locator("article")).to_have_count(1)


@pytest.mark.parametrize(
    ("steps", "ending", "sentence"),
    sample_params(
        [
            ([error(), done()], "failed", "error during the reply"),
            ([Close()], "cut_off", "ended before the reply was complete"),
        ]
    ),
)
def test_text_before_an_error_is_kept(
    tab: Tab, upstream: FakeUpstream, steps: list[bytes], ending: str, sentence: str
) -> None:
    upstream.script(role(), delta("Half of it"), *steps)
    tab.ask("Go on")
    tab.expect_ending(ending)
    expect(tab.answer).to_have_text("Half of it")
    expect(tab.reply.get_by_role("alert")).to_contain_text(sentence)
    expect(tab.reply.get_by_role("alert")).to_contain_text("The text so far has been saved.")


def test_a_draft_survives_a_reload(tab: Tab) -> None:
    tab.message.fill("Not sent yet")
    tab.reload()
    expect(tab.message).to_have_value("Not sent yet")


def test_two_tabs_show_the_same_reply(desk: Desk, tab: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    tab.ask("Both of you")
    expect(tab.answer).to_contain_text("Half of")
    tab.page.wait_for_url("**/c/**")
    second = desk.open(tab.page.url.removeprefix(desk.url))
    expect(second.answer).to_contain_text("Half of")
    tab.page.close()
    pause.release()
    second.expect_ending("complete")
    expect(second.answer).to_have_text("Half of it")


@pytest.mark.thorough
def test_another_person_does_not_find_the_conversation(
    tab: Tab, sit_down: SitDown, bob: Person, upstream: FakeUpstream
) -> None:
    tab.ask("Between us")
    tab.expect_ending("complete")
    bobs = sit_down(bob)
    bobs.expect_error("404")
    page = bobs.context.new_page()
    answer = page.goto(tab.page.url)
    assert answer
    assert answer.status == 404
    assert "Between us" not in page.content()


def test_signing_out_disables_other_tabs(desk: Desk, tab: Tab) -> None:
    other = desk.open()
    tab.page.get_by_role("button", name="Account").click()
    tab.page.get_by_role("button", name="Sign out").click()
    tab.page.wait_for_url("**/accounts/login/**")
    expect(other.page.get_by_role("heading", name="You are signed out")).to_be_visible()
    expect(other.message).to_have_count(0)


def test_the_keyboard_is_enough(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    tab.page.keyboard.type("One line")
    tab.page.keyboard.press("Shift+Enter")
    tab.page.keyboard.type("and another")
    tab.page.keyboard.press("Enter")
    expect(tab.answer).to_have_text("Half of it")
    assert upstream.wait_for_request().body["messages"][-1]["content"] == "One line\nand another"
    tab.page.keyboard.press("Escape")
    tab.expect_ending("stopped")
    tab.page.keyboard.press("Control+Shift+O")
    expect(tab.page.locator("article")).to_have_count(0)
    expect(tab.message).to_be_focused()


@pytest.mark.thorough
def test_a_refused_prompt_returns_to_its_box_every_time(tab: Tab, upstream: FakeUpstream) -> None:
    option = tab.page.locator("#model option")
    offered = option.get_attribute("value")
    for words in ("One", "Two"):
        option.evaluate("(option, value) => { option.value = value; }", f"{offered}-no-more")
        tab.ask(words)
        expect(tab.problem).to_have_text(NOT_OFFERED)
        expect(tab.problem).to_have_role("alert")
        expect(tab.message).to_have_value(words)
        expect(tab.page.locator(".prompt")).to_have_count(0)
        option.evaluate("(option, value) => { option.value = value; }", offered)
        tab.message.press("Enter")
        tab.expect_ending("complete")
        expect(tab.problem).to_have_text("")
        tab.page.get_by_role("link", name="New chat").click()
        expect(tab.page.locator(".prompt")).to_have_count(0)
