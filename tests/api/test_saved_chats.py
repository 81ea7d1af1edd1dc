"""Alice's script asks the app to save what it sends and what it gets."""

from datetime import timedelta
from typing import Any

import httpx
import openai
import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from openai import AsyncOpenAI
from pytest_django import Settings

from chatapp.api.completions import CONVERSATION
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.models import (
    ChatSettings,
    Conversation,
    Fallback,
    Message,
    ModelChoice,
    Prompt,
    ReviewPolicy,
    Upstream,
    Usage,
    User,
)
from chatapp.realtime.worker import worker
from tests.api.conftest import MODEL
from tests.support.fake_upstream import (
    Close,
    FakeUpstream,
    chunk,
    delta,
    done,
    finish,
    reasoning,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

HELLO: Any = [{"role": "user", "content": "Hello"}]
LONGER: Any = [
    {"role": "system", "content": "Be kind."},
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]},
    {"role": "assistant", "content": "Three", "reasoning_content": "Hm", "annotations": []},
    {"role": "user", "content": "Four"},
]
ANSWER = (reasoning("Let me see"), delta("Hi "), delta("there"), finish(), usage(12, 18), done())


async def create(script: AsyncOpenAI, messages: Any = HELLO, **more: Any) -> httpx.Headers:
    request: Any = {"model": MODEL, "messages": messages, "store": True} | more
    headers: httpx.Headers = (
        await script.chat.completions.with_raw_response.create(**request)
    ).headers
    return headers


async def branch(conversation: Conversation) -> list[tuple[str, str, str, str]]:
    return [
        (message.role, message.content, message.reasoning, message.ending)
        async for message in conversation.messages.all()
    ]


async def test_messages_and_answer_are_saved_as_a_chat_of_the_person(
    script: AsyncOpenAI, upstream: FakeUpstream, alice: User, api_upstream: Upstream
) -> None:
    upstream.script(*ANSWER)
    headers = await create(script, LONGER, temperature=0.5, metadata={"run": "7"}, user="me")
    saved = await Conversation.objects.aget()
    assert headers[CONVERSATION] == str(saved.pk)
    assert (saved.user_id, saved.title, saved.is_temporary) == (alice.pk, "One Two", False)
    assert await branch(saved) == [
        ("user", "One\n\nTwo", "", ""),
        ("assistant", "Three", "Hm", "complete"),
        ("user", "Four", "", ""),
        ("assistant", "Hi there", "Let me see", "complete"),
    ]
    reply = await Message.objects.select_related("upstream", "request_settings").alatest("sequence")
    assert reply.pk == saved.active_leaf
    assert (reply.content, reply.upstream, reply.model) == ("Hi there", api_upstream, MODEL)
    settings = await ChatSettings.objects.aget()
    assert (settings.system_prompt, settings.parameters) == (
        "Be kind.\n\nBe brief.",
        {"temperature": 0.5},
    )
    assert reply.request_settings
    assert reply.request_settings.instructions == "Be kind.\n\nBe brief."
    [body] = [request.body for request in upstream.chat_requests]
    assert "metadata" not in body
    assert body["user"] == "me"
    row = await Usage.objects.aget()
    assert (row.pk, row.kind, row.total_tokens) == (reply.pk, "api", 30)


async def test_a_streamed_answer_is_saved_too_and_names_its_chat_at_once(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    upstream.script(*ANSWER)
    request: Any = {"model": MODEL, "messages": HELLO, "store": True, "stream": True}
    async with script.chat.completions.with_streaming_response.create(**request) as response:
        named = response.headers[CONVERSATION]
        assert [line async for line in response.iter_lines()]
    saved = await Conversation.objects.aget()
    assert named == str(saved.pk)
    assert (await branch(saved))[-1] == ("assistant", "Hi there", "Let me see", "complete")


async def test_nothing_is_saved_unless_the_script_asks(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    for store in (False, None):
        upstream.script(*ANSWER)
        assert CONVERSATION not in await create(script, store=store)
    assert not await Conversation.objects.aexists()


async def test_the_same_request_twice_makes_two_chats(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    for _ in range(2):
        upstream.script(*ANSWER)
        await create(script)
    assert await Conversation.objects.acount() == await Usage.objects.acount() == 2


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_half_an_answer_is_saved_as_half(
    http: httpx.AsyncClient,
    api_upstream: Upstream,
    secret: str,
    upstream: FakeUpstream,
    is_streamed: bool,
) -> None:
    upstream.script(delta("Half"), Close())
    request = {"model": MODEL, "messages": HELLO, "store": True, "stream": is_streamed}
    response = await http.post(
        "/api/v1/chat/completions", json=request, headers={"Authorization": f"Bearer {secret}"}
    )
    assert "before it was complete" in response.text
    saved = await Conversation.objects.aget()
    assert response.headers[CONVERSATION] == str(saved.pk)
    assert (await branch(saved))[-1] == ("assistant", "Half", "", "cut_off")
    assert (await Usage.objects.aget()).ending == "cut_off"


async def test_a_request_that_fails_leaves_no_chat(
    script: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": {"message": "no"}})
    with pytest.raises(openai.BadRequestError) as caught:
        await create(script)
    assert CONVERSATION not in caught.value.response.headers
    assert not await Conversation.objects.aexists()


async def test_a_fallback_is_named_with_what_failed(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream
) -> None:
    api_upstream.offered_models = f"{MODEL}\ntwo"
    await api_upstream.asave()
    await sync_to_async(Fallback.replace)(
        api_upstream, MODEL, [ModelChoice(api_upstream.pk, "two")]
    )
    upstream.fail(429, {"error": {"message": "too many"}}, {"Retry-After": "30"})
    upstream.script(*ANSWER)
    await create(script)
    reply = await Message.objects.aget(role="assistant")
    assert (reply.model, [failed_model.model for failed_model in reply.failed_models]) == (
        "two",
        [MODEL],
    )


async def test_each_choice_is_saved_beside_the_first(
    script: AsyncOpenAI, upstream: FakeUpstream, api_upstream: Upstream
) -> None:
    api_upstream.parameters = {"n": 2}
    await api_upstream.asave()
    both = [{"index": index, "delta": {"content": text}} for index, text in enumerate("ab")]
    ends = [{"index": index, "delta": {}, "finish_reason": "stop"} for index in range(2)]
    upstream.script(chunk(both), chunk(ends), done())
    await create(script, n=2)
    replies = Message.objects.filter(role="assistant").order_by("choice")
    assert [saved_reply.content async for saved_reply in replies] == ["a", "b"]


async def test_the_chat_goes_on_from_the_page(
    script: AsyncOpenAI, upstream: FakeUpstream, alice: User, api_upstream: Upstream
) -> None:
    upstream.script(*ANSWER)
    await create(script, LONGER)
    saved = await Conversation.objects.aget()
    following = Prompt("Five", ModelChoice(api_upstream.pk, MODEL), saved.pk, saved.active_leaf)
    turn = await sync_to_async(following.store)(alice, worker().id)
    sent = [(message["role"], message["content"]) for message in turn.history.messages]
    assert sent == [
        ("system", "Be kind.\n\nBe brief."),
        ("user", "One\n\nTwo"),
        ("assistant", "Three"),
        ("user", "Four"),
        ("assistant", "Hi there"),
        ("user", "Five"),
    ]
    tokens = await sync_to_async(Usage.context_tokens)(alice, saved.active_leaf)
    assert tokens == 30
    await turn.reply.adelete()


async def test_what_is_saved_takes_room(
    script: AsyncOpenAI,
    upstream: FakeUpstream,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 1500
    allowed = TokenBuckets(lambda: TokenBucket(1, 10_000))
    monkeypatch.setattr(worker(), "stored_bytes", allowed)
    upstream.script(*ANSWER)
    await create(script)
    with pytest.raises(openai.BadRequestError, match="take up 1"):
        await create(script)
    assert len(upstream.chat_requests) == await Conversation.objects.acount() == 1


async def test_nothing_is_saved_for_a_person_who_is_erased_meanwhile(
    script: AsyncOpenAI, upstream: FakeUpstream, alice: User
) -> None:
    request: Any = {"model": MODEL, "messages": HELLO, "store": True, "stream": True}
    upstream.script(*ANSWER)
    async with script.chat.completions.with_streaming_response.create(**request) as response:
        await User.objects.filter(pk=alice.pk).adelete()
        assert [line async for line in response.iter_lines()]
    assert not await Conversation.objects.aexists()
    assert (await Usage.objects.aget()).user_id is None


async def test_the_page_and_the_review_say_what_came_over_the_api(
    script: AsyncOpenAI, upstream: FakeUpstream, alices: Client, olives: Client, alice: User
) -> None:
    upstream.script(*ANSWER)
    await create(script, LONGER)
    saved = await Conversation.objects.aget()

    def pages() -> tuple[str, str]:
        ReviewPolicy.objects.create(scope="all", begins_at=saved.created_at - timedelta(days=1))
        olives.post(f"/review/{saved.pk}/open/", {"reason": "A sample"})
        return (
            alices.get(f"/c/{saved.pk}/").content.decode(),
            olives.get(f"/review/{saved.pk}/").content.decode(),
        )

    for page in await sync_to_async(pages)():
        assert page.count("over the API") == 1
        assert page.count("Not known: a script sent this reply") == 1
