"""Bodies that are compressed although we accept only `identity`."""

import gzip

from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.reply import Ending
from tests.support.fake_upstream import (
    FakeUpstream,
    delta,
    done,
    finish,
)
from tests.upstream import WHOLE, failure, reply_to


async def test_a_compressed_stream_is_decompressed(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    packed = gzip.compress(delta("Hello") + finish() + done())
    upstream.script(packed, headers={"Content-Encoding": " GZip "})
    assert (await reply_to(client, endpoint)).answer == "Hello"
    upstream.script(delta("Hello"), headers={"Content-Encoding": "identity"})
    assert (await reply_to(client, endpoint)).answer == "Hello"
    upstream.script(packed, headers={"Content-Encoding": "br"})
    assert "compressed with br" in (await failure(client, endpoint)).message
    upstream.script(b"not packed at all", headers={"Content-Encoding": "gzip"})
    assert (await failure(client, endpoint)).kind is ErrorKind.MALFORMED


async def test_a_stream_of_several_gzip_members_is_decompressed(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    members = [gzip.compress(part) for part in WHOLE]
    for reads in (
        [b"".join(members)],
        members,
        [m[i : i + 1] for m in members for i in range(len(m))],
    ):
        upstream.script(*reads, b"no member", headers={"Content-Encoding": "gzip"})
        reply = await reply_to(client, endpoint)
        assert (reply.answer, reply.ending) == ("Hello", Ending.COMPLETE)
        assert reply.usage


async def test_a_decompression_bomb_ends_the_reply_and_keeps_the_text_before_it(
    client: UpstreamClient, endpoint: Endpoint, upstream: FakeUpstream
) -> None:
    bomb = gzip.compress(delta("Hello") + b": ping\n\n" * 4_000_000)
    upstream.script(bomb, headers={"Content-Encoding": "gzip"})
    reply = await reply_to(client, endpoint)
    assert reply.answer == "Hello"
    assert reply.error
    assert reply.error.kind is ErrorKind.TOO_LARGE
