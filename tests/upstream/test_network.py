"""Connections over TLS, to a host with several addresses, and with a slow reader."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.network import Network, Transport
from chatapp.upstream.resolver import Resolver
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.events import AnswerDelta, Failed
from tests.support.fake_upstream import delta
from tests.support.present import present

pytestmark = pytest.mark.network

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "upstream")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "upstream.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@asynccontextmanager
async def serving(answer: Answer, certificate: Path | None = None) -> AsyncIterator[int]:
    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    answering: set[asyncio.Task[None]] = set()

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(present(asyncio.current_task()))
        with suppress(ConnectionError):
            await answer(reader, writer)
        writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    async with await asyncio.start_server(serve_connection, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]
        for task in answering:
            await asyncio.wait_for(task, 5)


async def test_a_reply_streams_over_tls_and_leaving_closes_the_connection(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + delta("Hello"))
        while not reader.at_eof():
            await reader.read(65536)
        closed.set()

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    client = UpstreamClient()
    async with serving(answer, certificate) as port:
        async with client.stream(Endpoint(f"https://127.0.0.1:{port}/v1"), "m", []) as reads:
            assert AnswerDelta("Hello") in await anext(reads)
        await asyncio.wait_for(closed.wait(), 5)
    await client.aclose()


async def test_an_untrusted_certificate_is_rejected(certificate: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Never called."""

    client = UpstreamClient()
    async with (
        serving(answer, certificate) as port,
        client.stream(Endpoint(f"https://127.0.0.1:{port}/v1"), "m", []) as reads,
    ):
        (event,) = await anext(reads)
    assert isinstance(event, Failed)
    assert event.error.kind is ErrorKind.UNREACHABLE
    assert "certificate" in event.error.message.lower()
    await client.aclose()


async def test_the_next_address_is_tried_if_one_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x")

    async def addresses(_resolver: Resolver, _host: str) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    monkeypatch.setattr(Resolver, "addresses", addresses)
    async with serving(answer) as port:
        stream = await Network().connect("two-addresses.example", port, timeout=5)
        assert await stream.read(10, timeout=5) == b"x"
        stream.close()


async def test_a_slow_reader_holds_up_the_sender() -> None:
    """Otherwise an upstream that is faster than its reader would fill the memory."""
    size, is_held = 64 * 1024 * 1024, asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * size)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 0.2)
        is_held.set()
        await writer.drain()

    async with serving(answer) as port:
        stream = await Network().connect("127.0.0.1", port, timeout=5)
        await asyncio.wait_for(is_held.wait(), 5)
        received = 0
        while data := await stream.read(1024 * 1024, timeout=5):
            received += len(data)
        assert received == size
        stream.close()


async def test_a_long_read_times_out_although_earlier_reads_set_the_timer() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(3):
            writer.write(b"x")
            await asyncio.sleep(0.05)
        await reader.read()

    async with serving(answer) as port:
        stream = await Network().connect("127.0.0.1", port, timeout=5)
        for _ in range(3):
            assert await stream.read(1, timeout=5) == b"x"
        started_at = asyncio.get_running_loop().time()
        with pytest.raises(httpx.ReadTimeout):
            await stream.read(1, timeout=0.1)
        assert asyncio.get_running_loop().time() - started_at > 0.09
        stream.close()


async def test_an_idle_connection_is_closed_after_a_while() -> None:
    closed = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        assert await reader.read() == b""
        closed.set()

    transport = Transport(keep_alive_seconds=0.01)
    async with serving(answer) as port:
        assert await send_request(transport, port) == (200, b"{}")
        assert len(transport.connections) == 1
        await asyncio.wait_for(closed.wait(), 5)
    assert len(transport.connections) == 0


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n1\r\n!\r\n0\r\n\r\n"
HINTED = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + CHUNKED
WITH_LENGTH = b"HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\nHello!"


@pytest.mark.parametrize(("written", "status"), [(CHUNKED, 200), (HINTED, 200), (WITH_LENGTH, 201)])
async def test_a_response_is_read_at_every_split(written: bytes, status: int) -> None:
    """The same connection serves all requests."""
    is_cut, may_continue = asyncio.Event(), asyncio.Event()
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for cut in range(1, len(written)):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(written[:cut])
            is_cut.set()
            await may_continue.wait()
            may_continue.clear()
            writer.write(written[cut:])

    transport = Transport(keep_alive_seconds=5)
    async with serving(answer) as port:
        for cut in range(1, len(written)):
            request_task = asyncio.create_task(send_request(transport, port))
            await is_cut.wait()
            is_cut.clear()
            for _ in range(3):  # let the loop read the first part
                await asyncio.sleep(0)
            may_continue.set()
            assert await request_task == (status, b"Hello!"), cut
        await transport.aclose()
    assert connections == 1


async def send_request(transport: Transport, port: int) -> tuple[int, bytes]:
    timeouts = {"connect": 5.0, "read": 5.0, "write": 5.0}
    url = f"http://127.0.0.1:{port}/"
    request = httpx.Request("GET", url, extensions={"timeout": timeouts})
    response = await transport.handle_async_request(request)
    try:
        return response.status_code, await response.aread()
    finally:
        await response.aclose()
