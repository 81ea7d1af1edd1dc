"""What a tab's socket does, through the real consumer, database and upstream connection."""

import asyncio
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatapp import catalogue
from chatapp.generation import asking, generations
from chatapp.generation.presence import Sighting
from chatapp.models import Conversation, Message, Upstream, Usage, User
from tests.fake_upstream import (
    Abort,
    Close,
    FakeUpstream,
    Pause,
    Stall,
    delta,
    done,
    error,
    finish,
    reasoning,
    role,
    usage,
)
from tests.tab import Tab

pytestmark = pytest.mark.django_db(transaction=True)


async def saved(reply: UUID) -> Message:
    return await Message.objects.select_related("usage", "parent", "conversation").aget(pk=reply)


async def test_a_prompt_is_answered_and_both_are_saved(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(
        role(), reasoning("Rayleigh."), delta("It "), delta("scatters."), finish(), usage(), done()
    )
    reply = await tab.ask("Why is the sky blue?")
    await tab.until_ended()
    message = await saved(reply)
    assert message.ending == "complete"
    assert (message.reasoning, message.content) == ("Rayleigh.", "It scatters.")
    assert message.response_id == "chatcmpl-1"
    assert message.parent
    assert message.parent.content == "Why is the sky blue?"
    assert message.conversation.title == "Why is the sky blue?"
    assert message.usage.provenance == Usage.Provenance.REPORTED
    assert message.usage.total_tokens == 30


async def test_the_upstream_gets_the_key_the_model_and_the_thread(
    tab: Tab, upstream: FakeUpstream, connected: Upstream
) -> None:
    model = f"{connected.pk}/google/gemini-3-flash"
    await tab.ask("One", model=model)
    await tab.until_ended()
    first = await Conversation.objects.aget()
    await upstream.until_requested()
    await tab.ask("Two", conversation=str(first.pk), model=model)
    request = await upstream.until_requested()
    assert request.headers["authorization"] == "Bearer sk-very-secret"
    assert request.body["model"] == "google/gemini-3-flash"
    assert request.body["messages"] == [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Packets in flight"},
        {"role": "user", "content": "Two"},
    ]
    await tab.until_ended()


async def test_deltas_reach_the_tab_before_the_reply_ends(tab: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    await tab.ask()
    await tab.until("Half of")
    pause.release()
    await tab.until_ended()


async def test_reasoning_and_answer_come_in_regions_of_their_own(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), reasoning("Hm."), delta("Well."), finish(), done())
    await tab.ask()
    await tab.until_ended()
    frames = "".join(tab.frames)
    assert frames.index('data-region="reasoning"') < frames.index("Hm.")
    assert frames.index('data-region="answer"') < frames.index("Well.")
    assert "Thought for" in frames


async def test_closing_the_tab_closes_the_upstream_and_keeps_what_arrived(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    await tab.close(1001)
    await request.until_closed()
    await all_saved()
    message = await saved(reply)
    assert (message.ending, message.content) == ("abandoned", "Half of it")
    assert message.usage.provenance == Usage.Provenance.ESTIMATED


async def test_losing_the_connection_closes_the_upstream_after_its_own_grace(
    tab: Tab, upstream: FakeUpstream, settings: object
) -> None:
    settings.CHATAPP_CLOSE_GRACE = 60.0  # type: ignore[attr-defined]
    upstream.script(role(), delta("Half of it"), Stall())
    await tab.ask()
    request = await upstream.until_requested()
    await tab.close(1006)
    await request.until_closed()


async def test_stop_closes_the_upstream_and_keeps_what_arrived(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    conversation = (await saved(reply)).conversation_id
    await tab.send(action="stop", conversation=str(conversation))
    await request.until_closed()
    assert "estimated" in await tab.until_ended()
    message = await saved(reply)
    assert (message.ending, message.content) == ("stopped", "Half of it")


async def test_bob_cannot_stop_alices_reply(tab: Tab, upstream: FakeUpstream, bobs: Client) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half"), pause, delta(" of it"), finish(), done())
    reply = await tab.ask()
    conversation = (await saved(reply)).conversation_id
    async with Tab(bobs) as bobs_tab:
        await bobs_tab.send(action="stop", conversation=str(conversation))
        await bobs_tab.send(action="nonsense")
        await bobs_tab.until("Reload")  # so the stop before it has been looked at
    pause.release()
    await tab.until_ended()
    assert (await saved(reply)).ending == "complete"


async def test_bob_cannot_watch_or_write_in_alices_conversation(tab: Tab, bobs: Client) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = str((await saved(reply)).conversation_id)
    async with Tab(bobs) as bobs_tab:
        await bobs_tab.send(action="watch", conversation=conversation)
        assert "not here" in await bobs_tab.until("problem")
        await bobs_tab.send(action="prompt", message="Hello", conversation=conversation)
        assert "not here" in await bobs_tab.until("problem")
        await bobs_tab.send(action="retry", reply=str(reply))
        assert "not here" in await bobs_tab.until("problem")
    assert "Packets" not in "".join(bobs_tab.frames)


async def test_a_prompt_that_is_sent_again_is_stored_once(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    prompt = str(uuid4())
    await tab.ask("Once only", prompt=prompt)
    await tab.until_ended()
    async with Tab(alices) as again:
        await again.send(action="prompt", message="Once only", prompt=prompt)
        assert "Packets in flight" in await again.until("Once only")
    assert await Message.objects.acount() == 2
    assert len(upstream.chat_requests) == 1


async def test_another_text_under_a_used_id_is_a_prompt_of_its_own(
    tab: Tab, upstream: FakeUpstream
) -> None:
    prompt = str(uuid4())
    await tab.ask("First", prompt=prompt)
    await tab.until_ended()
    await tab.ask("Second", prompt=prompt)
    await tab.until_ended()
    contents = [m.content async for m in Message.objects.filter(role="user")]
    assert contents == ["First", "Second"]


async def test_one_reply_runs_in_a_conversation_at_a_time(tab: Tab, upstream: FakeUpstream) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half"), pause, finish(), done())
    reply = await tab.ask()
    conversation = str((await saved(reply)).conversation_id)
    prompt = str(uuid4())
    await tab.send(action="prompt", message="And?", conversation=conversation, prompt=prompt)
    assert f'data-prompt="{prompt}"' in await tab.until("still being written")
    pause.release()
    await tab.until_ended()
    assert await Message.objects.acount() == 2


async def test_whoever_comes_back_in_time_gets_a_snapshot_and_what_follows(
    tab: Tab, alices: Client, upstream: FakeUpstream, settings: object
) -> None:
    settings.CHATAPP_CLOSE_GRACE = 60.0  # type: ignore[attr-defined]
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    await tab.until("Half of")
    conversation = (await saved(reply)).conversation_id
    await tab.close(1001)
    async with Tab(alices, conversation=conversation, head=reply, ending="streaming") as again:
        snapshot = await again.until("Half of")
        assert f"#reply-{reply}" in snapshot
        pause.release()
        await again.until_ended()
    followed = "".join(again.frames[again.frames.index(snapshot) + 1 :])
    assert "Half of" not in followed
    assert "> it<" in followed
    assert (await saved(reply)).ending == "complete"


async def test_a_page_that_missed_the_end_is_brought_up_to_date(tab: Tab, alices: Client) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await saved(reply)).conversation_id
    async with Tab(alices, conversation=conversation, head=reply, ending="streaming") as late:
        frame = await late.until("Packets in flight")
    assert 'data-ending="complete"' in frame


async def test_a_second_tab_keeps_the_reply_alive(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    conversation = (await saved(reply)).conversation_id
    async with Tab(alices, conversation=conversation, head=reply) as second:
        await second.until("data-reply")
        await tab.close(1001)
        pause.release()
        await second.until_ended()
    assert (await saved(reply)).ending == "complete"


async def test_moving_to_another_conversation_keeps_the_reply_going(
    tab: Tab, upstream: FakeUpstream
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of "), pause, delta("it"), finish(), done())
    reply = await tab.ask()
    await tab.until("Half of")
    await tab.send(action="watch")
    conversation = (await saved(reply)).conversation_id
    await tab.send(action="nonsense")
    await tab.until("Reload")
    pause.release()
    frame = await tab.until(f"#nav-{conversation}")
    assert "data-running" not in frame.partition(f"#nav-{conversation}")[2]
    assert (await saved(reply)).content == "Half of it"


async def test_retry_makes_a_sibling_of_the_failed_reply(tab: Tab, upstream: FakeUpstream) -> None:
    for _ in range(asking.TRIES):
        upstream.fail(500, {"error": {"message": "boom"}})
    failed = await tab.ask()
    frame = await tab.until_ended()
    assert "boom" in frame
    await tab.send(action="retry", reply=str(failed))
    second = await tab.next_reply()
    await tab.until_ended()
    first, other = await saved(failed), await saved(second)
    assert (first.ending, other.ending) == ("failed", "complete")
    assert first.parent_id == other.parent_id


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (401, {}, "refused the key"),
        (429, {"retry-after": "80"}, "Try again in 80 s"),
        (500, {}, "server failed"),
        (404, {}, "does not know this model"),
    ],
)
async def test_a_refusal_of_the_upstream_is_told_in_a_sentence(
    tab: Tab, upstream: FakeUpstream, status: int, headers: dict[str, str], told: str
) -> None:
    for _ in range(asking.TRIES):
        upstream.fail(status, {"error": {"message": "its own words <b>"}}, headers)
    reply = await tab.ask()
    frame = await tab.until_ended()
    assert told in frame
    assert "its own words &lt;b&gt;" in frame
    message = await saved(reply)
    assert message.ending == "failed"
    assert message.usage.provenance == Usage.Provenance.UNKNOWN


@pytest.mark.parametrize(
    ("steps", "ending"),
    [
        ([error(), done()], "failed"),
        ([Close()], "cut_off"),
        ([Abort()], "cut_off"),
        ([finish("length"), done()], "length"),
        ([finish("content_filter"), done()], "content_filter"),
    ],
)
async def test_what_had_arrived_is_kept_whatever_the_ending(
    tab: Tab, upstream: FakeUpstream, steps: list[bytes], ending: str
) -> None:
    pause = Pause()
    upstream.script(role(), delta("Half of it"), pause, *steps)
    reply = await tab.ask()
    await tab.until("Half of it")
    pause.release()
    frame = await tab.until_ended()
    assert f'data-ending="{ending}"' in frame
    message = await saved(reply)
    assert (message.ending, message.content) == (ending, "Half of it")


async def test_an_upstream_that_cannot_be_reached_is_told(tab: Tab, connected: Upstream) -> None:
    connected.base_url = "http://127.0.0.1:1/v1"
    await connected.asave()
    await tab.ask(model=f"{connected.pk}/any")
    assert "can&#x27;t be reached" in await tab.until_ended()


async def test_without_a_model_the_prompt_is_refused_and_given_back(
    alices: Client, generations_end: None
) -> None:
    prompt = str(uuid4())
    async with Tab(alices) as tab:
        await tab.send(action="prompt", message="Hello", prompt=prompt)
        assert f'data-prompt="{prompt}"' in await tab.until("No model is available")


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 200_001])
async def test_a_bad_prompt_is_refused_and_given_back(tab: Tab, text: str) -> None:
    prompt = str(uuid4())
    await tab.send(action="prompt", message=text, prompt=prompt)
    assert f'data-prompt="{prompt}"' in await tab.until("problem")
    assert not await Message.objects.aexists()


@pytest.mark.parametrize("text", ["not json", "[]", "{}", '{"action": "prompt"}', "null"])
async def test_what_is_no_message_of_ours_gets_a_sentence(tab: Tab, text: str) -> None:
    await tab._socket.send_to(text_data=text)
    assert 'id="problem"' in await tab.until("problem")


async def test_markup_in_a_prompt_and_in_a_reply_is_shown_as_text(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("<script>alert(1)</script>"), finish(), done())
    await tab.ask("<img src=x onerror=alert(1)>")
    await tab.until_ended()
    frames = "".join(tab.frames)
    assert "<script" not in frames
    assert "<img" not in frames
    assert "&lt;script&gt;" in frames


@pytest.mark.parametrize("origin", ["", "https://evil.example", "http://localhost:9999", "null"])
async def test_a_socket_from_another_origin_is_refused(
    alices: Client, generations_end: None, origin: str
) -> None:
    assert not await Tab(alices, origin=origin).connect()


async def test_a_socket_without_a_session_is_refused(generations_end: None, db: None) -> None:
    assert not await Tab(Client()).connect()


async def test_signing_out_closes_the_tabs_of_the_session(tab: Tab, alices: Client) -> None:
    await database_sync_to_async(alices.post)("/accounts/logout/")
    assert await tab.until_closed() == 4401


async def test_a_person_who_was_deactivated_can_ask_no_more(tab: Tab, alice: User) -> None:
    alice.is_active = False
    await alice.asave()
    await tab.send(action="prompt", message="Hello")
    await tab.until("not active any more")


async def all_saved() -> None:
    """Waits for what a closed tab can't be told: that its reply is saved."""
    for task in list(generations()._tasks):
        await task


NOT_OFFERED = "This model is not offered any more. Choose another."


async def test_a_model_that_an_administrator_does_not_offer_is_not_asked(
    tab: Tab, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    reply = await tab.ask("Hello", model=f"{connected.pk}/one")
    await tab.until_ended()
    await Upstream.objects.aupdate(offered_models="two\nthree")
    asked = len(upstream.chat_requests)
    for refused in ("one", "tw", "two three", "TWO", "two/"):
        chosen = {"model": f"{connected.pk}/{refused}"}
        await tab.send(action="prompt", message="Hello", **chosen)
        await tab.until(NOT_OFFERED)
        await tab.send(action="retry", reply=str(reply), **chosen)
        await tab.until(NOT_OFFERED)
    assert len(upstream.chat_requests) == asked
    assert await Message.objects.acount() == 2
    await tab.send(action="retry", reply=str(reply), model=f"{connected.pk}/two")
    await tab.until_ended()


async def test_a_model_that_its_upstream_does_not_list_is_not_asked(
    tab: Tab, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    await generations().catalogue.offers()
    asked = len(upstream.chat_requests)
    await tab.send(action="prompt", message="Hello", model=f"{connected.pk}/three")
    await tab.until(NOT_OFFERED)
    await tab.send(action="retry", reply=str(uuid4()), model=f"{connected.pk}/three")
    await tab.until(NOT_OFFERED)
    assert len(upstream.chat_requests) == asked
    await tab.ask("Hello", model=f"{connected.pk}/two")


async def test_a_model_that_its_upstream_lists_since_a_while_is_asked(
    tab: Tab, connected: Upstream, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process, which heard of it, drew the page."""
    upstream.models = ["one"]
    await generations().catalogue.offers()
    upstream.models = ["one", "two"]
    await tab.send(action="prompt", message="Hello", model=f"{connected.pk}/two")
    await tab.until(NOT_OFFERED)
    monkeypatch.setattr(catalogue, "RETRY_SECONDS", 0)
    await tab.ask("Hello", model=f"{connected.pk}/two")


async def test_an_upstream_that_lists_nothing_is_asked_for_any_model(
    tab: Tab, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail_models(404, {"error": {"message": "no such page"}})
    await generations().catalogue.offers()
    await tab.ask("Hello", model=f"{connected.pk}/any")


@pytest.mark.parametrize("model", ["9" * 5000 + "/m", "x/m", "/"])
async def test_a_model_that_is_none_ends_no_tab(
    tab: Tab, upstream: FakeUpstream, model: str
) -> None:
    await tab.send(action="prompt", message="Hello", model=model)
    await tab.ask()
    assert await tab.until_ended()


async def test_a_prompt_can_not_be_retried(tab: Tab, upstream: FakeUpstream) -> None:
    reply = await saved(await tab.ask())
    await tab.until_ended()
    assert reply.parent
    await tab.send(action="retry", reply=str(reply.parent.pk))
    assert "That reply is not here" in await tab.until('id="problem"')


async def test_what_goes_wrong_in_an_action_is_told_and_the_tab_lives_on(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(title: str) -> str:
        raise ArithmeticError(title)

    with monkeypatch.context() as patched:
        patched.setattr(Conversation, "title_of", fail)
        await tab.send(action="prompt", message="Hello")
        assert "Something went wrong" in await tab.until('id="problem"')
    await tab.ask()
    assert await tab.until_ended()


async def test_a_reply_that_nobody_writes_is_interrupted(
    tab: Tab, upstream: FakeUpstream, connected: Upstream, alice: User
) -> None:
    upstream.script(role(), delta("Hello"), Stall())
    running = await saved(await tab.ask())
    forgotten = await database_sync_to_async(forgotten_reply)(alice, connected)
    own = Sighting(frozenset([running.pk, forgotten]))
    generations()._see(own)  # it may have begun meanwhile
    assert (await saved_ending(forgotten)) == "streaming"
    generations()._see(own)
    await asyncio.gather(*generations()._asides)
    assert await saved_ending(forgotten) == "interrupted"
    usage = await Usage.objects.aget(message=forgotten)
    assert (usage.provenance, usage.completion_tokens) == ("estimated", 0)
    assert await saved_ending(running.pk) == "streaming"


def forgotten_reply(user: User, upstream: Upstream) -> UUID:
    """Stored as streaming by this process, and not begun."""
    conversation = Conversation(user=user, title="Forgotten")
    _, reply = conversation.ask(uuid4(), "Why?", None, upstream, "m", generations().process)
    return reply.pk


async def saved_ending(reply: UUID) -> str:
    return await Message.objects.values_list("ending", flat=True).aget(pk=reply)
