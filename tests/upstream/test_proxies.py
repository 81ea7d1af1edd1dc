"""Requests through the proxies that the environment names."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.proxies import Proxies
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.events import Failed
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.endpoint import Endpoint
from tests.support.certificates import Authority
from tests.support.fake_upstream import FakeUpstream, Stall, delta
from tests.upstream import KEY, WHOLE, ask, reply_to

VARIABLES = "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class ForwardProxy:
    """A proxy that forwards every request to one upstream and keeps the heads it was sent."""

    def __init__(self, upstream: str, status: int = 200, tls: ssl.SSLContext | None = None) -> None:
        self._upstream = urlsplit(upstream)
        self._status = status
        self._tls = tls  # of the host at the end of a tunnel
        self.heads: list[bytes] = []
        self.closed = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if head.startswith(b"CONNECT"):
            writer.write(b"HTTP/1.1 %d Whatever\r\n\r\n" % self._status)
            await writer.drain()
            if self._tls:
                await writer.start_tls(self._tls)
            head = b""
        if self._status == 200:
            await self._forward(head.replace(b"http://gateway.example", b"", 1), reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        self.closed.set()

    async def _forward(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        back, forth = await asyncio.open_connection(self._upstream.hostname, self._upstream.port)
        forth.write(head)
        both = [
            asyncio.create_task(copy_stream(reader, forth)),
            asyncio.create_task(copy_stream(back, writer)),
        ]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for copying in both:
            copying.cancel()
        await asyncio.wait(both)
        forth.close()
        await forth.wait_closed()


async def copy_stream(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()


@asynccontextmanager
async def listening(proxy: ForwardProxy) -> AsyncIterator[ForwardProxy]:
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield proxy
        await proxy.closed.wait()


@asynccontextmanager
async def client_of_the_environment() -> AsyncIterator[UpstreamClient]:
    client = UpstreamClient()
    try:
        yield client
    finally:
        await client.aclose()


async def test_a_reply_comes_through_a_proxy(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script(*WHOLE)
    async with listening(ForwardProxy(upstream.base_url)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//ann:p%40ss@"))
        async with client_of_the_environment() as client:
            reply = await reply_to(client, Endpoint("http://gateway.example/v1", KEY))
    assert reply.ending is Ending.COMPLETE
    (head,) = proxy.heads
    assert head.startswith(b"POST http://gateway.example/v1/chat/completions HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YW5uOnBAc3M=\r\n" in head


async def test_a_tunnel_hides_the_request_from_the_proxy(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    upstream.script(*WHOLE)
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    proxy = ForwardProxy(upstream.base_url, tls=authority.context("gateway.example"))
    async with listening(proxy):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//ann:secret@"))
        async with client_of_the_environment() as client:
            reply = await reply_to(client, Endpoint("https://gateway.example/v1", KEY))
    assert reply.ending is Ending.COMPLETE
    (head,) = proxy.heads
    assert head.startswith(b"CONNECT gateway.example:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YW5uOnNlY3JldA==\r\n" in head
    assert KEY.encode() not in head
    (request,) = upstream.requests
    assert "proxy-authorization" not in request.headers


async def test_leaving_a_reply_closes_the_connection_to_the_proxy(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script(delta("One"), Stall())
    async with listening(ForwardProxy(upstream.base_url)) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        async with client_of_the_environment() as client:
            endpoint = Endpoint("http://gateway.example/v1", KEY)
            async with client.stream(endpoint, "m", []) as events:
                await anext(aiter(events))
            await proxy.closed.wait()


async def test_a_refused_tunnel_is_an_error_that_says_so(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening(ForwardProxy(upstream.base_url, status=407)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with client_of_the_environment() as client:
            (event,) = await ask(client, Endpoint("https://gateway.example/v1", KEY))
    assert isinstance(event, Failed)
    assert event.error.kind is ErrorKind.UNREACHABLE
    assert event.error.message == "the proxy refused the connection with status 407"


@pytest.mark.parametrize(
    ("variables", "url", "expected"),
    [
        ({}, "https://gw.example/v1", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://gw.example/v1", "http://p:1"),
        ({"HTTPS_PROXY": "p:1"}, "https://gw.example/v1", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://gw.example/v1", None),
        ({"ALL_PROXY": "http://p:1"}, "http://gw.example/v1", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "http://localhost:8000/v1", None),
        ({"ALL_PROXY": "http://p:1"}, "http://127.0.0.1:8000/v1", None),
        ({"ALL_PROXY": "http://p:1"}, "http://[::1]:8000/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "other,.example"}, "http://gw.example/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, "http://gw.example/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "example.org"}, "http://gw/", "http://p:1"),
    ],
)
def test_the_environment_chooses_the_proxy(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, expected: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxy = Proxies().proxy_for(httpx.URL(url))
    assert (proxy and str(proxy.url)) == expected


@pytest.mark.parametrize("address", ["socks5://p:1", "http://", "http://p:port"])
def test_a_proxy_that_cannot_be_used_is_an_error(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    with pytest.raises(httpx.ProxyError, match="the proxy in the environment is not"):
        Proxies().proxy_for(httpx.URL("https://gw.example/v1"))
