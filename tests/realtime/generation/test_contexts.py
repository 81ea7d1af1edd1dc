"""Requests that are too long for a model: explained, remembered, and forgotten when outgrown."""

import pytest

from chatapp.models import Message, Upstream, UpstreamFailure
from chatapp.rendering.fragments.endings import build_notice
from chatapp.upstream.wire.requests.history import History
from tests.realtime.generation.conftest import Desk
from tests.realtime.generation.replies import load_saved_reply
from tests.support.fake_upstream import FakeUpstream, delta, done, error, finish, role, usage

pytestmark = pytest.mark.django_db

SAYS_SIZE = "request (9412 tokens) exceeds the available context size (8192 tokens)"
SAYS_NONE = "Please reduce the length of the messages or completion."


async def run_reply(desk: Desk) -> Message:
    generation, _ = await desk.generation(History.of([]))
    await generation.run()
    return await load_saved_reply(generation.reply)


@pytest.mark.parametrize("status", [400, 413, 500])
async def test_a_refusal_of_a_long_request_is_explained_and_remembered(
    desk: Desk, saved_upstream: Upstream, upstream: FakeUpstream, status: int
) -> None:
    upstream.fail(status, {"error": {"message": SAYS_SIZE}})
    reply = await run_reply(desk)
    notice = build_notice(reply)
    assert notice
    assert notice.text.startswith("This chat is too long for the model. Your message is kept.")
    assert (notice.detail, notice.is_too_long) == (f"{status} {SAYS_SIZE}", True)
    assert len(upstream.chat_requests) == 1
    await saved_upstream.arefresh_from_db()
    assert saved_upstream.find_context_tokens("m", None) == 8192
    assert saved_upstream.find_context_tokens("another", None) is None
    assert not await UpstreamFailure.objects.aexists()


async def test_a_context_that_is_full_in_the_middle_of_a_reply_keeps_its_text(
    desk: Desk, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("As far as it"), error("Context size has been exceeded."))
    reply = await run_reply(desk)
    notice = build_notice(reply)
    assert notice
    assert notice.is_too_long
    assert notice.text.endswith("The text so far has been saved.")
    assert reply.content == "As far as it"
    await saved_upstream.arefresh_from_db()
    assert saved_upstream.refused_contexts["m"].tokens is None
    assert saved_upstream.find_context_tokens("m", 4096) == 4096


async def test_a_rate_limit_in_tokens_is_not_taken_for_a_context(
    desk: Desk, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    message = "Request too large on tokens per minute (TPM): Limit 6000, Requested 9000"
    upstream.fail(413, {"error": {"message": message}})
    reply = await run_reply(desk)
    assert reply.upstream_error
    assert reply.upstream_error.kind == "bad_request"
    await saved_upstream.arefresh_from_db()
    assert not saved_upstream.context_refusals


async def test_a_model_that_takes_more_by_now_is_believed(
    desk: Desk, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": {"message": SAYS_SIZE}})
    await run_reply(desk)
    upstream.script(role(), delta("Yes."), finish(), usage(20_000), done())
    await saved_upstream.arefresh_from_db()
    await run_reply(desk)
    await saved_upstream.arefresh_from_db()
    assert saved_upstream.find_context_tokens("m", None) is None
