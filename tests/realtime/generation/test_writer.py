"""The requests of one reply: retries, choices, and what is kept."""

import base64
import json
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatapp.logs import configuration
from chatapp.models import Conversation, Message, ReplyImage, Upstream, Usage
from chatapp.realtime.generation import retries
from tests.realtime.generation.replies import call, load_saved_reply
from tests.support.fake_upstream import (
    MODEL,
    Close,
    FakeUpstream,
    Pause,
    Stall,
    answer,
    choice,
    chunk,
    delta,
    done,
    finish,
    reasoning,
    refusal,
    role,
    usage,
)
from tests.support.reviewer import open_for_review
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

CLOCK = "current_date_and_time"
BUSY = {"error": {"message": "busy"}}


# Retries


async def test_a_temporary_failure_is_retried_and_announced(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.fail(503, BUSY)
    upstream.fail(429, BUSY, {"retry-after": "0"})
    reply = await tab.ask()
    assert "server failed. Trying again" in await tab.until("try 2")
    assert "rate-limited. Trying again" in await tab.until("try 3")
    await tab.until_ended()
    assert (await load_saved_reply(reply)).ending == "complete"
    assert len(upstream.chat_requests) == 3


async def test_a_request_is_tried_three_times_at_most(tab: Tab, upstream: FakeUpstream) -> None:
    for _ in range(retries.TRIES + 1):
        upstream.fail(500, BUSY)
    reply = await tab.ask()
    await tab.until_ended()
    assert (await load_saved_reply(reply)).ending == "failed"
    assert len(upstream.chat_requests) == retries.TRIES


async def test_a_permanent_failure_is_not_retried(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.fail(401, BUSY)
    await tab.ask()
    await tab.until_ended()
    assert len(upstream.chat_requests) == 1


async def test_nothing_is_retried_once_something_arrived(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Half"), chunk([], error=None), b"data: {bad\n\n")
    reply = await tab.ask()
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.ending, message.content) == ("failed", "Half")
    assert len(upstream.chat_requests) == 1


async def test_stop_ends_the_wait_between_tries(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.fail(429, BUSY, {"retry-after": "50"})
    reply = await tab.ask()
    await tab.until("try 2")
    conversation = str((await load_saved_reply(reply)).conversation_id)
    await tab.send(action="stop", conversation=conversation)
    await tab.until_ended()
    assert (await load_saved_reply(reply)).ending == "stopped"
    assert len(upstream.chat_requests) == 1


async def test_a_refusal_of_the_usage_option_is_retried_without_it_and_remembered(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.fail(400, {"error": {"message": "unknown field: stream_options"}})
    await tab.ask()
    await tab.until_ended()
    first, second = upstream.chat_requests
    assert first.body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in second.body
    await saved_upstream.arefresh_from_db()
    assert not saved_upstream.takes_usage_option
    conversation = await Conversation.objects.aget()
    await tab.ask("Again", conversation=str(conversation.pk))
    await tab.until_ended()
    assert "stream_options" not in upstream.chat_requests[2].body


# What is sent


async def test_an_administrators_parameters_and_dialect_are_in_the_request(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.parameters = {"temperature": 0.2}
    saved_upstream.dialect = "opentoken"
    await saved_upstream.asave()
    await tab.ask()
    await tab.until_ended()
    body = upstream.chat_requests[0].body
    assert body["temperature"] == 0.2
    assert "stream_options" not in body  # this dialect always reports usage


async def test_the_clock_tool_is_not_sent_if_it_is_switched_off(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.offers_clock = False
    await saved_upstream.asave()
    await tab.ask()
    await tab.until_ended()
    assert "tools" not in upstream.chat_requests[0].body


async def test_no_tools_are_sent_if_they_are_switched_off(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.offers_clock, saved_upstream.offers_tools = True, True
    await saved_upstream.asave()
    await tab.ask()
    await tab.until_ended()
    saved_upstream.offers_tools = False
    await saved_upstream.asave()
    await tab.ask()
    await tab.until_ended()
    assert ["tools" in request.body for request in upstream.chat_requests] == [True, False]


# Usage


async def test_the_usage_of_a_whole_reply_without_a_report_is_estimated(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("It is."), finish(), done())
    upstream.script(role(), delta("It is"), Close())
    ends = []
    for _ in range(2):
        await tab.ask()
        ends.append(await tab.until_ended())
    for end in ends:
        assert 'data-usage="estimated"' in end
        assert " at most" in end
    assert ["since the reply ended early" in end for end in ends] == [False, True]


async def test_late_usage_is_waited_for(tab: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), delta("It is."), finish(), pause, usage(7, 9), done())
    reply = await tab.ask()
    await tab.until("It is.")
    pause.release()
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.ending, message.usage.provenance) == ("complete", "reported")


async def test_stop_ends_the_wait_for_usage_and_the_reply_is_whole(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("It is."), finish(), Stall())
    reply = await tab.ask()
    await tab.until("It is.")
    conversation = str((await load_saved_reply(reply)).conversation_id)
    await tab.send(action="stop", conversation=conversation)
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.ending, message.usage.provenance) == ("complete", "estimated")


# Choices


async def test_each_choice_is_a_sibling_that_can_be_stepped_to(
    tab: Tab, alices: Client, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.parameters = {"n": 2}
    await saved_upstream.asave()

    def delta(index: int, text: str) -> bytes:
        return chunk([{"index": index, "delta": {"content": text}, "finish_reason": None}])

    def ending(index: int) -> bytes:
        return chunk([{"index": index, "delta": {}, "finish_reason": "stop"}])

    upstream.script(delta(0, "Heads."), delta(1, "Tails."), ending(0), ending(1), usage(), done())
    reply = await tab.ask()
    assert "1 / 2" in await tab.until_ended()
    first = await load_saved_reply(reply)
    second = await Message.objects.aget(choice=1)
    assert (first.content, second.content) == ("Heads.", "Tails.")
    assert (second.parent_id, second.ending) == (first.parent_id, "complete")
    page = await database_sync_to_async(alices.get)(
        f"/c/{first.conversation_id}/?reply={second.pk}"
    )
    assert "Tails." in page.content.decode()
    assert "2 / 2" in page.content.decode()


# What is kept beside the text


async def test_logprobs_are_kept_and_shown_as_confidence(
    tab: Tab, alices: Client, bobs: Client, upstream: FakeUpstream
) -> None:
    token = {"token": "Sure", "logprob": -0.105, "bytes": [83, 117, 114, 101], "top_logprobs": []}
    logprobs = {"content": [token], "refusal": None}
    upstream.script(
        chunk([{"index": 0, "delta": {"content": "Sure"}, "logprobs": logprobs}]), finish(), done()
    )
    reply = await tab.ask()
    await tab.until_ended()
    path = f"/replies/{reply}/confidence/"
    stored = await Message.objects.aget(pk=reply)
    thread = await database_sync_to_async(alices.get)(f"/c/{stored.conversation_id}/")
    assert path in thread.content.decode()
    page = (await database_sync_to_async(alices.get)(path)).content.decode()
    assert "Sure" in page
    assert "90.0%" in page
    assert (await database_sync_to_async(bobs.get)(path)).status_code == 404


async def test_moderation_is_shown_and_flagged_for_administrators(
    tab: Tab, olives: Client, upstream: FakeUpstream
) -> None:
    result = {"flagged": True, "categories": {"violence": True, "hate": False}, "model": "m"}
    verdict = {"type": "moderation_results", "model": "m", "results": [result]}
    upstream.script(*answer("Hm.")[:-1], chunk([], moderation={"input": verdict}), done())
    reply = await tab.ask()
    assert "flagged this exchange: violence" in await tab.until_ended()
    message = await load_saved_reply(reply)
    assert message.is_flagged
    page = await database_sync_to_async(open_for_review)(olives, message.conversation_id)
    assert "violence" in page.content.decode()


async def test_a_closing_tag_without_an_opening_one_makes_the_text_before_it_reasoning(
    tab: Tab, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(
        role(), delta("Let me see."), pause, delta("</think>\n\nYes."), finish(), done()
    )
    reply = await tab.ask()
    assert 'data-region="answer"' in await tab.until("Let me see.")
    pause.release()
    assert 'data-region="reasoning"' in await tab.until("Let me see.")
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.reasoning, message.content) == ("Let me see.", "Yes.")


async def test_a_refusal_is_a_region_and_an_ending(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), refusal("I can't help with that."), finish(), done())
    reply = await tab.ask()
    assert "declined to answer" in await tab.until_ended()
    assert 'data-region="refusal"' in "".join(tab.frames)
    assert (await load_saved_reply(reply)).ending == "refused"


async def test_an_upstream_that_is_silent_for_too_long_times_out(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.silence_seconds = 1
    await saved_upstream.asave()
    upstream.script(role(), delta("Half"), Stall())
    reply = await tab.ask()
    assert "stopped responding" in await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.ending, message.content) == ("timed_out", "Half")


async def test_a_stopped_reply_is_read_on_for_its_usage_if_so_configured(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.drains_stopped = True
    await saved_upstream.asave()
    pause = Pause()
    upstream.script(role(), delta("Half"), pause, delta(" unread"), finish(), usage(7, 9), done())
    reply = await tab.ask()
    await tab.until("Half")
    conversation = str((await load_saved_reply(reply)).conversation_id)
    await tab.send(action="stop", conversation=conversation)
    await tab.send(action="nonsense", prompt=str(uuid4()))
    await tab.until("Reload")  # so the stop before it has been handled
    pause.release()
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.ending, message.content) == ("stopped", "Half")
    assert message.usage.provenance == Usage.Provenance.REPORTED
    assert message.usage.completion_tokens == 9


# Endings, and content other than text


@pytest.mark.parametrize(
    ("steps", "ending", "sentence"),
    [
        ([role(), delta("Half"), done()], "cut_off", "ended before the reply was complete"),
        ([role(), finish(), usage(), done()], "no_answer", "ended the reply without an answer"),
        ([reasoning("Hm."), finish(), done()], "no_answer", "thought, but gave no answer"),
        ([role(), delta("Half"), finish("abort"), done()], "failed", "with “abort”"),
        ([delta("Half"), b"event: error\ndata: it broke\n\n", done()], "failed", "it broke"),
    ],
)
async def test_a_partial_answer_is_never_shown_as_complete(
    tab: Tab,
    alices: Client,
    upstream: FakeUpstream,
    steps: list[bytes],
    ending: str,
    sentence: str,
) -> None:
    upstream.script(*steps)
    reply = await tab.ask()
    assert sentence in await tab.until_ended()
    message = await load_saved_reply(reply)
    assert message.ending == ending
    page = await database_sync_to_async(alices.get)(f"/c/{message.conversation_id}/")
    assert sentence in page.content.decode()


async def test_a_failure_is_logged_without_any_text_of_the_chat(
    tab: Tab, upstream: FakeUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    upstream.fail(400, {"error": {"message": "bad: Tell me a secret"}})
    await tab.ask("Tell me a secret")
    await tab.until_ended()
    [record] = [entry for entry in caplog.records if entry.message == "An upstream failed"]
    formatter = dict(configuration(for_people=False)["formatters"]["line"])
    line = json.loads(formatter.pop("()")(**formatter).format(record))
    assert line["model"] == MODEL
    assert (line["ending"], line["error"], line["status"]) == ("failed", "bad_request", 400)
    assert "secret" not in caplog.text


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108040000 00b51c0c02"
    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)
CITED = {
    "citations": ["https://a.example/?q=1&x=<b>", "javascript:alert(1)"],
    "search_results": [{"url": "https://b.example/two", "title": "<script>alert(1)</script>"}],
}


async def test_sources_images_and_sound_are_shown_and_kept_under_the_answer(
    tab: Tab, alices: Client, bobs: Client, olives: Client, upstream: FakeUpstream
) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    svg = f"data:image/svg+xml;base64,{base64.b64encode(b'<svg/>').decode()}"
    images = [
        {"image_url": {"url": address}} for address in (url, svg, "https://tracker.example/1.png")
    ]
    upstream.script(
        *(role(), choice({"audio": {"transcript": "Here "}}), choice({"audio": {"data": "AAAA"}})),
        *(delta("it is."), choice({"images": images}), chunk([], **CITED), finish(), done()),
    )
    reply = await tab.ask()
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert (message.content, message.ending) == ("Here it is.", "complete")
    own = await database_sync_to_async(alices.get)(f"/c/{message.conversation_id}/")
    reviewed = await database_sync_to_async(open_for_review)(olives, message.conversation_id)
    pages = [own.content.decode(), reviewed.content.decode()]
    image = f"/replies/{reply}/images/0/"
    for html in ("".join(tab.frames), *pages):
        assert 'href="https://a.example/?q=1&amp;x=&lt;b&gt;"' in html
        assert ">&lt;script&gt;alert(1)&lt;/script&gt;</a>" in html
        assert "b.example</span>" in html
        assert "javascript:" not in html
        assert "This was a spoken reply" in html
        assert f'<img src="{image}"' in html
        assert "/images/1/" not in html
        assert "tracker.example" not in html
        assert "image (2), source" in html
    assert "3 pieces of the stream could not be read and were left out" in pages[0]
    answers = [await database_sync_to_async(client.get)(image) for client in (alices, olives, bobs)]
    assert [answer.status_code for answer in answers] == [200, 200, 404]
    assert answers[0].content == PIXEL
    assert answers[0]["Content-Type"] == "image/png"
    assert answers[0]["X-Content-Type-Options"] == "nosniff"
    missing = await database_sync_to_async(alices.get)(f"/replies/{reply}/images/1/")
    assert missing.status_code == 404


async def test_content_of_an_earlier_round_is_kept_too(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(
        chunk([], citations=["https://a.example/"]), call(CLOCK, "{}"), finish("tool_calls"), done()
    )
    upstream.script(chunk([], citations=["https://b.example/"]), delta("Noon."), finish(), done())
    reply = await tab.ask()
    await tab.until_ended()
    urls = [source.url for source in (await load_saved_reply(reply)).extras.sources]
    assert urls == ["https://a.example/", "https://b.example/"]


async def test_each_choice_has_its_own_images(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.parameters = {"n": 2}
    await saved_upstream.asave()
    url = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    images = [{"image_url": {"url": url}}]
    upstream.script(
        chunk([{"index": 0, "delta": {"content": "None."}, "finish_reason": "stop"}]),
        chunk([{"index": 1, "delta": {"images": images}, "finish_reason": "stop"}]),
        done(),
    )
    await tab.ask()
    await tab.until_ended()
    second = await Message.objects.aget(choice=1)
    assert (second.ending, second.extras.image_count) == ("complete", 1)
    assert [image.message_id async for image in ReplyImage.objects.all()] == [second.pk]
