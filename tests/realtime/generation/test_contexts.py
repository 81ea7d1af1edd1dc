"""Requests that are too long for a model: explained, remembered, and forgotten when outgrown."""

import pytest

from chatapp.models import Message, Upstream, UpstreamFailure
from chatapp.rendering.fragments.endings import notice_of
from chatapp.upstream.wire.history import History
from tests.realtime.generation.conftest import Desk
from tests.realtime.generation.replies import saved
from tests.support.fake_upstream import FakeUpstream, delta, done, error, finish, role, usage

pytestmark = pytest.mark.django_db

SAYS_SIZE = "request (9412 tokens) exceeds the available context size (8192 tokens)"
SAYS_NONE = "Please reduce the length of the messages or completion."


async def run(desk: Desk) -> Message:
    generation, _ = await desk.generation(History.of([]))
    await generation.run()
    return await saved(generation.reply)


@pytest.mark.parametrize("status", [400, 413, 500])
async def test_a_refusal_of_a_long_request_is_explained_and_remembered(
    desk: Desk, connected: Upstream, upstream: FakeUpstream, status: int
) -> None:
    upstream.fail(status, {"error": {"message": SAYS_SIZE}})
    reply = await run(desk)
    notice = notice_of(reply)
    assert notice
    assert notice.text.startswith("This chat is too long for the model. Your message is kept.")
    assert (notice.detail, notice.is_too_long) == (f"{status} {SAYS_SIZE}", True)
    assert len(upstream.chat_requests) == 1
    await connected.arefresh_from_db()
    assert connected.context_of("m", None) == 8192
    assert connected.context_of("another", None) is None
    assert not await UpstreamFailure.objects.aexists()


async def test_a_context_that_is_full_in_the_middle_of_a_reply_keeps_its_text(
    desk: Desk, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("As far as it"), error("Context size has been exceeded."))
    reply = await run(desk)
    notice = notice_of(reply)
    assert notice
    assert notice.is_too_long
    assert notice.text.endswith("The text so far has been saved.")
    assert reply.content == "As far as it"
    await connected.arefresh_from_db()
    assert connected.refused_contexts["m"].tokens is None
    assert connected.context_of("m", 4096) == 4096


async def test_a_rate_limit_in_tokens_is_not_taken_for_a_context(
    desk: Desk, connected: Upstream, upstream: FakeUpstream
) -> None:
    message = "Request too large on tokens per minute (TPM): Limit 6000, Requested 9000"
    upstream.fail(413, {"error": {"message": message}})
    reply = await run(desk)
    assert reply.upstream_error
    assert reply.upstream_error.kind == "bad_request"
    await connected.arefresh_from_db()
    assert not connected.context_refusals


async def test_a_model_that_takes_more_by_now_is_believed(
    desk: Desk, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": {"message": SAYS_SIZE}})
    await run(desk)
    upstream.script(role(), delta("Yes."), finish(), usage(20_000), done())
    await connected.arefresh_from_db()
    await run(desk)
    await connected.arefresh_from_db()
    assert connected.context_of("m", None) is None
