"""The part of a reply's frames that readers of a shared chat get: named regions, nothing else."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.models import Message
from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.rendering.fragments import (
    LiveReply,
    filter_for_readers,
    shared_snapshot,
    snapshot_fragment,
)
from tests.support.page import Element, Page

ANSWERS = frozenset({"answer", "refusal"})
ALL = ANSWERS | {"reasoning", "tool-call"}
HOSTILE = '<template hx-swap-oob="append target:#messages">'


TEXTS = st.text(max_size=30).map("x{}".format)  # a region appears with its first visible text


def reply() -> LiveReply:
    return LiveReply(Message(pk=uuid4(), role="assistant", ending=Message.STREAMING, model="m"))


def build_page(live: LiveReply) -> Page:
    """Return a reader's page with the reply, before any text."""
    key = live.view().key
    return Page(f'<div id="messages"><article><div id="b{key}"></div></article></div>')


def test_regions_that_are_not_shown_are_left_out() -> None:
    live = reply()
    live.append("reasoning", "A secret. ")
    frames = [live.changes()]
    live.append("reasoning", "More of it. ")
    frames.append(live.changes())
    live.append("answer", "Blue ")
    frames.append(live.changes())
    live.append("answer", "is short.")
    frames.append(live.changes())
    readers_html = "".join(filter_for_readers(frame, ANSWERS) for frame in frames)
    assert "secret" not in readers_html
    assert "More" not in readers_html
    assert "Blue" in readers_html
    assert "short." in readers_html
    everything = "".join(filter_for_readers(frame, ALL) for frame in frames)
    assert "secret" in everything
    assert "More" in everything


def test_a_reader_sees_for_how_long_it_thought_if_reasoning_is_shown() -> None:
    live = reply()
    page = build_page(live)
    live.append("reasoning", "Thinking of dust.")
    page.swap(filter_for_readers(live.changes(), ALL))
    assert page.root.find("summary").text.strip() == "Thinking…"
    live.message.reasoning_duration = 3.0
    live.append("answer", "Blue")
    frame = live.changes()
    page.swap(filter_for_readers(frame, ALL))
    assert page.root.find("summary").text.strip() == "Thought for 3 s"
    assert "Thought" not in filter_for_readers(frame, ANSWERS)


def run_in(state: RunState, name: str = "lookup", text: str = '{"q": "sky"}') -> ToolRun:
    result = text if state is RunState.DONE else ""
    return ToolRun("c1", name, text, state, result)


@pytest.mark.parametrize("state", RunState)
def test_a_readers_tool_call_ends_as_a_snapshot_draws_it(state: RunState) -> None:
    live = reply()
    followed, joined = build_page(live), build_page(live)
    for arguments in ('{"q"', ': "sk', 'y"}'):
        live.write_call(0, "c1", "lookup", arguments)
        followed.swap(filter_for_readers(live.changes(), ALL))
    assert followed.root.find("code").text == '{"q": "sky"}'
    live.show_run(0, run_in(state))
    followed.swap(filter_for_readers(live.changes(), ALL))
    joined.swap(filter_for_readers(shared_snapshot(live.view()), ALL))
    ours, others = (outline(page) for page in (followed, joined))
    assert ours == others


def outline(page: Page) -> list[tuple[str, dict[str, str], str]]:
    """Return the tags of a page with their attributes and texts, without white space."""
    elements = page.root.find_all("#messages details, #messages details *")
    return [
        (get_opening_tag(element), dict(element.attributes), "".join(element.text.split()))
        for element in elements
    ]


def get_opening_tag(element: Element) -> str:
    return element.html.partition(">")[0].partition(" ")[0]


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize("is_new", [True, False])
def test_only_the_parts_of_a_tool_call_without_buttons_are_sent(
    state: RunState, *, is_new: bool
) -> None:
    live = reply()
    live.write_call(0, "c1", "lookup", '{"q": "sky"}')
    if not is_new:
        live.changes()
    live.show_run(0, run_in(state))
    frame = live.changes()
    readers_html = filter_for_readers(frame, ALL)
    assert ("hx-ws" in frame) is (state is RunState.ASKING)
    for words in (
        "hx-ws",
        "hx-vals",
        "hx-ignore",
        "Allow",
        "Deny",
        "<button",
        str(live.message.pk),
    ):
        assert words not in readers_html
    assert "lookup" in readers_html
    assert filter_for_readers(frame, ANSWERS) == ""
    assert (
        filter_for_readers(shared_snapshot(live.view()), ANSWERS).count("<template") == 1
    )  # no text


@pytest.mark.parametrize(
    "added",
    [
        '<button hx-ws:send hx-vals="{}">Allow</button>',
        "<section>Secret</section>",
        '<form action="/elsewhere/"><input name="secret"></form>',
        '<img src="/secret">',
        '<a href="https://evil.example/">Elsewhere</a>',
        '<iframe src="/secret"></iframe>',
        '<style>@import "/secret";</style>',
        "<script>secret()</script>",
        '<div id="messages" hx-get="/secret" style="secret" onclick="secret()"></div>',
        '<svg><use href="https://evil.example/secret.svg#icon-wrench"></use></svg>',
        '<svg><use href="//evil.example/icons.svg#icon-wrench"></use></svg>',
        "<!-- secret -->",
    ],
)
@pytest.mark.parametrize("style", ["append target:#c0123abcd-0-0", "append target:#b0123abcd"])
def test_nothing_that_a_call_may_not_have_is_sent_with_it(added: str, style: str) -> None:
    name = ' data-region="tool-call"' if "#b" in style else ""
    ending = f'"{name}>' if name else '">'
    frame = f'<template hx-swap-oob="{style}{ending}<pre>Shown{added}</pre></template>'
    readers_html = filter_for_readers(frame, ALL)
    assert "Shown" in readers_html
    for words in ("ecret", "Allow", "evil", "messages", "button", "hx-ws", "<form", "<input"):
        assert words not in readers_html


@pytest.mark.parametrize(
    "opening",
    [
        'append target:#c0123abcd-0-0,#messages">',
        'append target:#c0123abcd-0-0 #messages">',
        'append target:#c0123abcd-0-0-q">',
        'append target:#c0123abcd-0-0" data-region="question">',
        'append target:#c0123abcd">',
        'outerHTML target:#c0123abcd-0-0-a strip:true">',
        'outerHTML target:#c0123abcd-0-0">',
        'innerHTML target:#c0123abcd-0-0">',
        'delete target:#c0123abcd-0-0">',
        'append target:#b0123abcd" data-region="tool-calls">',
        'append target:#b0123abcd" data-region="call">',
    ],
)
def test_no_other_change_of_a_call_is_sent(opening: str) -> None:
    assert filter_for_readers(f'<template hx-swap-oob="{opening}Secret</template>', ALL) == ""


@pytest.mark.parametrize("text", [HOSTILE, "</template><p>x", "</code></pre><button>x", "<!--"])
def test_foreign_text_in_a_tool_call_stays_text(text: str) -> None:
    live = reply()
    page = build_page(live)
    for part in (text[:7], text[7:]):
        live.write_call(0, "c1", text, part)
        page.swap(filter_for_readers(live.changes(), ALL))
    live.show_run(0, run_in(RunState.DONE, text, text))
    page.swap(filter_for_readers(live.changes(), ALL))
    assert len(page.root.find_all("#messages > article")) == 1
    assert not page.root.find_all("template, button")
    assert page.root.find(class_="tool-name").text == text
    assert [element.text for element in page.root.find_all("code")] == [text, text]


def test_frames_of_the_owners_page_are_left_out() -> None:
    live = reply()
    live.append("answer", "Blue")
    live.changes()
    for frame in (
        snapshot_fragment(live.view()),
        live.ended_fragment(),
        '<template hx-swap-oob="append target:#messages"><p>Another chat</p></template>',
        "<p>Loose</p>",
        HOSTILE,
        "",
    ):
        assert filter_for_readers(frame, ALL) == ""


@pytest.mark.parametrize("text", [HOSTILE, "</template><p>x", "`</template>`", "a\n\n```\n" * 3])
def test_foreign_text_makes_no_swap_of_its_own(text: str) -> None:
    live = reply()
    page = build_page(live)
    for part in (text[:7], text[7:]):
        live.append("answer", part)
        page.swap(filter_for_readers(live.changes(), ANSWERS))
    assert len(page.root.find_all("#messages > article")) == 1
    assert not page.root.find_all("template")


@given(
    st.lists(
        st.tuples(st.sampled_from(["answer", "reasoning", "refusal"]), TEXTS),
        max_size=12,
    )
)
def test_a_readers_page_ends_as_a_snapshot_draws_it(parts: list[tuple[str, str]]) -> None:
    live = reply()
    followed, joined = build_page(live), build_page(live)
    for region, text in parts:
        live.append(region, text)
        followed.swap(filter_for_readers(live.changes(), ANSWERS))
    while live.is_behind:
        followed.swap(filter_for_readers(live.changes(), ANSWERS))
    joined.swap(filter_for_readers(shared_snapshot(live.view()), ANSWERS))
    [ours, others] = (page.root.find(id="messages") for page in (followed, joined))
    assert ours.html == others.html
    assert not followed.root.find_all(data_region="reasoning")
