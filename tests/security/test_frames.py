"""Foreign text in partials and frames: it stands under `hx-ignore`, and changes nothing else.

Each payload is everywhere at once: prompt, reasoning, answer, refusal, tool name, arguments and
result, title, model, an upstream's error, the words of a notice.
"""

from dataclasses import asdict
from uuid import UUID
from xml.etree.ElementTree import Element

import pytest
from django.template.loader import render_to_string

from chatapp import frames
from chatapp.frames import LiveReply, ReplyView
from chatapp.markdown import block_html, render
from chatapp.models import Conversation, Message, Usage
from chatapp.models.rounds import RunState, ToolRun
from chatapp.upstream.errors import ErrorKind, UpstreamError
from tests.security.judge import breaches_below, parsed, skeleton
from tests.security.payloads import MARK, SETS

CONVERSATION, PROMPT, REPLY = (UUID(int=number) for number in (1, 2, 3))
HARMLESS = f"harmless {MARK}"
REGIONS = ("reasoning", "answer", "refusal")


def drawn(text: str) -> str:
    """A page's partials with the text in each place, and the frames that bring them."""
    conversation = Conversation(pk=CONVERSATION, title=Conversation.title_of(text))
    prompt = Message(pk=PROMPT, role="user", content=text, conversation=conversation)
    reply = replied(text, conversation)
    offers = [{"upstream": {"name": text}, "models": [text], "choices": [(text, text)]}] * 2
    offers.append({"problem": text})
    return "".join(
        [
            frames.thread_html([prompt, reply], render),
            frames.snapshot_frame(ReplyView.of(reply, render)),
            frames.composer_frame(conversation, reply),
            frames.sidebar_frame(conversation, running=True),
            frames.problem_frame(text),
            frames.delay_frame(REPLY, text),
            render_to_string("chat/_waiting.html", {"text": text}),
            render_to_string("chat/_main.html", {"conversation": conversation, "offers": offers}),
            render_to_string(
                "chat/_confidence.html", {"tokens": [{"text": text, "title": text, "band": 1}]}
            ),
            frames.review_html([prompt, reply], render),
        ]
    )


def replied(text: str, conversation: Conversation) -> Message:
    run = ToolRun(text, text, text, RunState.ASKING, text)
    error = asdict(UpstreamError(ErrorKind.BAD_REQUEST, text, 400))
    moderation = {"input": {"results": [{"categories": {text: True}}]}}
    reply = Message(
        pk=REPLY,
        role="assistant",
        conversation=conversation,
        reasoning=text,
        content=text,
        refusal=text,
        tool_runs=[run.__dict__],
        ending="failed",
        error=error,
        model=text,
        finish_reason=text,
        response_id=text,
        service_tier=text,
        system_fingerprint=text,
        moderation=moderation,
        is_flagged=True,
        extras_record={
            "sources": [["https://a.example/", text], ["https://b.example/", ""]],
            "left_out": {text: 2},
        },
    )
    reply.siblings = [reply]
    Usage(message=reply, provenance="unknown")
    return reply


def streamed(text: str) -> str:
    """The frames of a reply whose every part comes in two pieces."""
    conversation = Conversation(pk=CONVERSATION, title="A title")
    message = Message(
        pk=REPLY, role="assistant", ending="streaming", model="m", conversation=conversation
    )
    live, sent = LiveReply(message), ""
    half = len(text) // 2
    for piece in (text[:half], text[half:]):
        for region in REGIONS:
            live.append(region, piece)
        live.write_call(0, "call", text, piece)
        sent += live.changes()
    live.finish()
    sent += live.changes()
    while live.is_behind:
        sent += live.changes()
    while live.has_jobs:
        of, jobs = live.jobs()
        sent += live.take(of, jobs, [block_html(job.block, job.definitions) for job in jobs])
    return sent


def places_of_mark(root: Element) -> list[str]:
    """Where the mark stands as text outside foreign text."""
    found: list[str] = []

    def walk(element: Element, *, is_foreign: bool) -> None:
        is_foreign = is_foreign or "hx-ignore" in element.attrib
        texts = [element.text, *(child.tail for child in element)]
        if not is_foreign and any(text and MARK in text for text in texts):
            found.append(str(element.tag))
        for child in element:
            walk(child, is_foreign=is_foreign)

    walk(root, is_foreign=False)
    return found


@pytest.fixture(scope="module")
def harmless() -> list[str]:
    return skeleton(parsed(drawn(HARMLESS)))


@pytest.mark.parametrize("name", SETS)
def test_a_payload_anywhere_leaves_the_page_as_it_is(name: str, harmless: list[str]) -> None:
    for payload in SETS[name]:
        root = parsed(drawn(payload))
        assert breaches_below(root, "hx-ignore") == [], payload
        assert skeleton(root) == harmless, payload


def test_foreign_text_stands_under_hx_ignore_alone() -> None:
    root = parsed(drawn(HARMLESS))
    assert [place for place in places_of_mark(root) if not place.endswith("}title")] == []


@pytest.mark.parametrize("name", SETS)
def test_a_frame_is_nothing_but_templates_and_what_they_swap(name: str) -> None:
    for payload in SETS[name]:
        root = parsed(streamed(payload))
        assert breaches_below(root, "hx-ignore") == [], payload
        for frame in root:
            assert str(frame.tag).endswith("}template")
            assert "hx-swap-oob" in frame.attrib
        swaps = [element for element in root.iter() if "hx-swap-oob" in element.attrib]
        assert swaps == list(root), payload
