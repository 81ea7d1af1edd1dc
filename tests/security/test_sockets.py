"""Sockets of clients that do not read, send too much, or send messages that no page sends."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest
import websockets.asyncio.client
from django.conf import settings as of_tests
from django.test import Client
from pytest_django import Settings
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from chatapp.chat import thread_sync
from chatapp.chat.consumer import TOO_MUCH
from chatapp.chat.fields import parse_fields
from chatapp.chat.redraws import Draw, Redraws
from chatapp.close_codes import CloseCode
from chatapp.models import Message
from chatapp.realtime.worker import worker
from tests.security.wire import Wire, handshake
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.live import Person, Server, Site
from tests.support.profile import sample_params
from tests.support.program import WAIT_SECONDS
from tests.support.tab import Tab
from tests.support.visitor import visit

MIB = 1024 * 1024
PROTOCOL_ERROR = 1002
FEW_BYTES = 4096  # what the kernel buffers for a client that does not read
MAKE_THREADS = """
import json
from chatapp.models import Conversation, Message, User
user = User.objects.get(username={name!r})
made = []
for number in range({threads}):
    conversation = Conversation.objects.create(user=user, title=f"Long {{number}}")
    before = None
    for turn in range({turns}):
        before = Message.objects.create(
            conversation=conversation, parent=before, role="user", content=f"Prompt {{turn}}")
        before = Message.objects.create(
            conversation=conversation, parent=before, role="assistant", ending="complete",
            content="A long line of prose. " * {sentences})
    made.append(str(conversation.pk))
print(json.dumps(made))
"""


@pytest.fixture(scope="module")
def module_upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def server(site: Site, module_upstream: FakeUpstream) -> Iterator[Server]:
    """A server with generous limits, so that each test meets a single bound."""
    with site.server(
        OPENAI_BASE_URL=module_upstream.base_url,
        OPENAI_API_KEY="sk-very-secret",
        CHATAPP_ACTIONS_PER_SECOND="1000",
        CHATAPP_DROP_GRACE="60",
    ) as server:
        yield server


@pytest.fixture(scope="module")
def strict_server(site: Site) -> Iterator[Server]:
    """A server with limits so low that the slowest machine notices when they are exceeded."""
    with site.server(CHATAPP_ACTIONS_PER_SECOND="10") as server:
        yield server


@pytest.fixture
def person(site: Site) -> Person:
    return site.person()


def store_threads(
    server: Server, person: Person, turns: int, threads: int = 1, sentences: int = 1000
) -> list[str]:
    """Store conversations; a thousand sentences are some 22 KB."""
    script = MAKE_THREADS.format(
        name=person.username, threads=threads, turns=turns, sentences=sentences
    )
    made: list[str] = json.loads(server.run(script))
    return made


def measure_memory(server: Server) -> float:
    """Return the resident memory of the process in MiB."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert match
    return int(match[1]) / 1024


@asynccontextmanager
async def open_socket(
    server: Server,
    person: Person | None,
    path: str = "/ws/",
    *,
    receive: int = 0,
    headers: Mapping[str, str | None] | None = None,
) -> AsyncIterator[websockets.asyncio.client.ClientConnection]:
    """Open a bare socket; `origin` and `host` in `headers` may differ from the page's."""
    raw = socket.socket()
    if receive:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    host, port = server.url.removeprefix("http://").split(":")
    raw.connect((host, int(port)))
    raw.setblocking(False)
    cookie = {"Cookie": f"sessionid={person.session}"} if person else {}
    headers = headers or {}
    origin = headers.get("origin", server.url)
    name = headers.get("host") or f"{host}:{port}"
    async with websockets.asyncio.client.connect(
        f"ws://{name}{path}",
        sock=raw,
        origin=Origin(origin) if origin else None,
        additional_headers=cookie,
        max_size=None,
        max_queue=1,
        ping_interval=None,
        proxy=None,
        close_timeout=1,
    ) as opened:
        yield opened


async def close_code(opened: websockets.asyncio.client.ClientConnection) -> int | None:
    """Return the code with which the server closes the socket."""
    async with asyncio.timeout(WAIT_SECONDS):
        with suppress(ConnectionClosed):
            while True:
                await opened.recv()
    return opened.close_code


def watch(conversation: str, **position: str) -> str:
    return json.dumps({"action": "watch", "conversation": conversation, **position})


# Clients that do not read


@pytest.mark.thorough
async def test_data_waiting_for_a_socket_that_does_not_read_is_bounded(
    server: Server, person: Person
) -> None:
    made = store_threads(server, person, turns=20, threads=2)
    async with visit(server, person):
        before = measure_memory(server)
        async with open_socket(server, person, receive=FEW_BYTES) as deaf:
            await until_aborted(server, deaf, made)
        assert measure_memory(server) - before < 50


@pytest.mark.thorough
async def test_a_client_that_did_not_read_catches_up_with_a_snapshot(
    server: Server, person: Person, module_upstream: FakeUpstream
) -> None:
    made = store_threads(server, person, turns=20, threads=2)
    first, last = Pause(), Pause()
    module_upstream.script(
        role(), delta("It begins. "), first, delta("It ends."), last, finish(), done()
    )
    async with visit(server, person) as visitor:
        await visitor.send("Tell me")
        await visitor.until_says("It begins.")
        path = "/ws/?conversation=" + visitor.path.rpartition("/c/")[2].strip("/")
        async with open_socket(server, person, path, receive=FEW_BYTES) as deaf:
            await until_aborted(server, deaf, made)
        first.release()
        await visitor.until_says("It ends.")
        async with open_socket(server, person, path) as again:
            assert "It begins. It ends." in str(await again.recv())
        last.release()
        assert await visitor.until_ended() == "complete"


async def until_aborted(
    server: Server, deaf: websockets.asyncio.client.ClientConnection, made: list[str]
) -> None:
    """Ask for one long conversation after another without reading any, until aborted."""
    since = len(server.lines)
    with suppress(ConnectionClosed):
        for number in range(1500):
            await deaf.send(watch(made[number % 2]))
            await asyncio.sleep(0.02)  # as a hasty person does
    await asyncio.to_thread(server.wait_for, "does not read", since)


async def test_a_long_conversation_reaches_a_slow_reader_whole(
    server: Server, person: Person
) -> None:
    [conversation] = store_threads(server, person, turns=15, sentences=7000)
    async with open_socket(
        server, person, f"/ws/?conversation={conversation}", receive=FEW_BYTES
    ) as slow:
        async with asyncio.timeout(WAIT_SECONDS):
            frame = await slow.recv()
        assert isinstance(frame, str)
        assert len(frame) > 2 * MIB
        assert frame.count("Prompt ") >= 15
        await slow.send(watch(""))
        await slow.send("nonsense")
        async with asyncio.timeout(WAIT_SECONDS):
            while "Reload" not in str(await slow.recv()):
                pass


# Clients that send too much


async def test_too_many_actions_are_refused_and_then_close_the_socket(
    tab: Tab, settings: Settings
) -> None:
    async with Tab(tab.client) as other:
        for _ in range(200):
            await other.send(action="nonsense")
        assert TOO_MUCH in await other.until(TOO_MUCH)
        assert await other.until_closed() == CloseCode.FLOOD
    assert sum("Reload" in frame for frame in other.frames) <= 60
    await tab.ask()
    await tab.until_ended()


async def test_a_prompt_beyond_the_rate_limit_is_returned(tab: Tab, upstream: FakeUpstream) -> None:
    for _ in range(60):
        await tab.send(action="watch")
    prompt = str(uuid4())
    await tab.send(action="prompt", message="Hello", prompt=prompt)
    assert TOO_MUCH in await tab.until(f'data-prompt="{prompt}"')
    assert not upstream.chat_requests


async def test_stop_works_beyond_the_rate_limit(tab: Tab, upstream: FakeUpstream) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    conversation = str((await Message.objects.aget(pk=reply)).conversation_id)
    for _ in range(60):
        await tab.send(action="watch")
    await tab.send(action="stop", conversation=conversation)
    assert "Stopped" in await tab.until_ended()


async def test_repeated_requests_for_a_thread_render_it_once_a_second(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = str((await Message.objects.aget(pk=reply)).conversation_id)
    end_second = stop_the_clock(monkeypatch)
    async with Tab(tab.client) as other:
        for _ in range(30):
            await other.send(action="watch", conversation=conversation)
        await other.send(action="nonsense")
        await other.until("Reload")
        assert count_drawn_frames(other) == 1
        end_second()
        await other.until("Packets in flight")  # in the end it gets what it missed
        await other.until("#title")
        assert await other.hears_nothing(0.1)
        assert count_drawn_frames(other) == 2


def stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let everything happen within a second, until the function that this returns is called."""
    waiting: list[tuple[Redraws, Draw]] = []
    schedule = Redraws.schedule

    def schedule_for_later(redraws: Redraws, _: float, draw: Draw) -> None:
        waiting.append((redraws, draw))
        schedule(redraws, 3600, draw)

    def end_second() -> None:
        for redraws, draw in waiting:
            schedule(redraws, 0, draw)

    monkeypatch.setattr(thread_sync, "time", SimpleNamespace(monotonic=lambda: 0.0))
    monkeypatch.setattr(Redraws, "schedule", schedule_for_later)
    return end_second


async def test_switching_back_at_once_shows_the_conversation_again(
    tab: Tab, upstream: FakeUpstream
) -> None:
    reply = await tab.ask()
    await tab.until_ended()
    conversation = str((await Message.objects.aget(pk=reply)).conversation_id)
    async with Tab(tab.client) as other:
        await other.send(action="watch", conversation=conversation)
        await other.until("Packets in flight")
        upstream.script(role(), delta("Elsewhere"), finish(), done())
        await other.ask("Another thing")
        await other.until_ended()
        await other.send(action="watch", conversation=conversation)
        async with asyncio.timeout(0.9):
            await other.until("Packets in flight")


async def test_nothing_is_rendered_for_a_closed_tab(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_sync, "DRAW_AGAIN_SECONDS", 0.2)
    reply = await tab.ask()
    await tab.until_ended()
    conversation = (await Message.objects.aget(pk=reply)).conversation_id
    async with Tab(tab.client) as other:
        for _ in range(2):
            await other.send(action="watch", conversation=str(conversation))
        await other.until("Packets in flight")
        await other.send(action="nonsense")
        await other.until("Reload")
    await tab.send(action="watch")
    await tab.send(action="nonsense")
    await tab.until("Reload")
    await asyncio.sleep(0.3)  # past the moment at which it would be rendered again
    assert worker().viewers.conversations() == set()


def count_drawn_frames(tab: Tab) -> int:
    return sum("Packets in flight" in frame for frame in tab.frames)


async def test_too_many_tabs_are_refused(tab: Tab, settings: Settings) -> None:
    settings.CHATAPP_TABS_PER_PERSON = 2
    async with Tab(tab.client) as second:
        third = Tab(tab.client)
        assert await third.connect()
        assert await third.until_closed() == CloseCode.TOO_MANY_TABS
        await second.close()
        async with Tab(tab.client) as fourth:
            await fourth.ask()
            await fourth.until_ended()


async def test_endless_reconnects_are_refused(
    alices: Client, bobs: Client, generations_end: None, settings: Settings
) -> None:
    settings.CHATAPP_ACTIONS_PER_SECOND = 1
    settings.CHATAPP_TABS_PER_PERSON = 1
    opened = 0
    for _ in range(8):
        tab = Tab(alices)
        opened += await tab.connect()
        await tab.close()
    assert opened < 8
    assert await Tab(bobs).connect()


async def test_concurrent_replies_of_one_person_are_limited(
    tab: Tab, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_REPLIES_PER_PERSON = 1
    pause = Pause()
    upstream.script(role(), delta("Half"), pause, finish(), done())
    first = str(uuid4())
    await tab.ask(prompt=first)
    prompt = str(uuid4())
    await tab.send(action="prompt", message="And?", prompt=prompt)
    assert "replies running" in await tab.until(f'data-prompt="{prompt}"')
    # A prompt already taken is not refused when a tab that lost its socket sends it again.
    await tab.send(action="prompt", message="Why is the sky blue?", prompt=first)
    assert "are being written" not in await tab.until("Half")
    pause.release()
    await tab.until_ended()
    await tab.ask("And?", prompt=prompt)
    await tab.until_ended()


async def test_the_queue_of_unread_messages_is_bounded(server: Server, person: Person) -> None:
    async with open_socket(server, person) as opened:
        opened.transport.write(b"\x81\x82\x00\x00\x00\x00{}" * 3000)  # fewer than the limit
        # 1006 is a reset while data was still in transit to the server.
        assert await close_code(opened) in (CloseCode.FLOOD, 1006)
    await asyncio.to_thread(server.wait_for, "faster than can be read")


async def test_a_message_larger_than_any_form_is_refused_with_a_code(
    server: Server, person: Person
) -> None:
    async with open_socket(server, person) as opened:
        with suppress(ConnectionClosed):
            await opened.send(json.dumps({"action": "prompt", "message": "x" * 8 * MIB}))
        assert await close_code(opened) == CloseCode.TOO_LARGE


async def test_the_longest_prompt_of_the_widest_characters_is_accepted(
    server: Server, person: Person, module_upstream: FakeUpstream
) -> None:
    async with visit(server, person) as visitor:
        await visitor.send("\x01" * (of_tests.CHATAPP_MAX_PROMPT_CHARACTERS - 1) + "!")
        assert await visitor.until_ended() == "complete"


PING, PONG, EMPTY_FRAGMENT = (bytes([first, 0x80, 0, 0, 0, 0]) for first in (0x89, 0x8A, 0x00))
BEAT = b"\x81\x91\x00\x00\x00\x00" + b'{"action":"beat"}'
BEGIN = b"\x01\x80\x00\x00\x00\x00"  # of a message continued in fragments


@pytest.mark.parametrize(
    "frame",
    sample_params([PING, PONG, EMPTY_FRAGMENT, BEAT]),
    ids=["ping", "pong", "fragment", "beat"],
)
async def test_frames_that_never_reach_the_application_count_too(
    strict_server: Server, person: Person, frame: bytes
) -> None:
    """One socket that sent them without end delayed everybody else by four seconds."""
    since = len(strict_server.lines)
    async with open_socket(strict_server, person) as opened:
        opened.transport.write((BEGIN if frame == EMPTY_FRAGMENT else b"") + frame * 60_000)
        assert await close_code(opened) in (CloseCode.FLOOD, 1006)
    await asyncio.to_thread(strict_server.wait_for, "faster than can be read", since)


@pytest.mark.thorough
async def test_no_pongs_pile_up_for_a_client_that_does_not_read(
    site: Site, person: Person, module_upstream: FakeUpstream
) -> None:
    with site.server(
        OPENAI_BASE_URL=module_upstream.base_url, CHATAPP_ACTIONS_PER_SECOND="1000000"
    ) as server:
        async with visit(server, person):
            before = measure_memory(server)
            async with open_socket(server, person, receive=FEW_BYTES) as deaf:
                deaf.transport.pause_reading()
                pings = (b"\x89\xfd" + bytes(4 + 125)) * 8000  # 1 MiB, and pongs of the same size
                for _ in range(60):
                    deaf.transport.write(pings)
                with server.visit() as client:
                    while deaf.transport.get_write_buffer_size():
                        await asyncio.to_thread(client.get, "/healthz")
                assert measure_memory(server) - before < 20


async def test_data_before_the_handshake_response_closes_the_connection(server: Server) -> None:
    """Each head used to start a handshake, and the second one failed with the server's own error
    page."""
    answers = []
    for _ in range(20):
        with Wire(server.url) as wire:
            with suppress(OSError):
                for _ in range(20):
                    wire.write(handshake(server.url))
            answers.append(wire.read_to_the_end())
    assert {answer.status for answer in answers} <= {0, 403}
    assert 0 in {answer.status for answer in answers}


# Clients that send what no page sends


@pytest.mark.parametrize(
    "message",
    [
        "",
        "null",
        "[]",
        '"text"',
        "{",
        '{"action": NaN}',
        '{"action": {"a": "watch"}}',
        '{"action": "prompt", "message": ["x"]}',
        '{"action": "watch", "conversation": 1e999}',
        '{"action": "watch", "conversation": ' + "9" * 5000 + "}",
        '{"action": "' + "watch" * 10_000 + '"}',
        '{"action": "watch", "conversation": "\\ud800"}',
        "[" * 600_000,
        '{"a": ' * 100_000,
        '{"a": [' + "[]," * 400_000 + "1]}",
        b"\x00\xff",
        b'{"action": "watch"}',
    ],
    ids=lambda message: repr(message[:20]),
)
async def test_a_message_no_page_sends_gets_an_explanation(
    server: Server, person: Person, message: str | bytes
) -> None:
    async with open_socket(server, person) as opened, asyncio.timeout(WAIT_SECONDS):
        await opened.send(message)
        assert 'id="problem"' in str(await opened.recv())
        await opened.send(json.dumps({"action": "nonsense"}))
        assert "out of date" in str(await opened.recv())


def test_unknown_fields_are_not_built() -> None:
    """Building them one by one took 0.7 s for a message of the maximum size."""
    many = ",".join(f'"k{number}":{number}' for number in range(80_000))
    assert parse_fields('{"action":"watch",' + many + "}") == {"action": "watch"}


async def test_text_that_is_not_utf_8_is_refused_with_a_code(
    server: Server, person: Person
) -> None:
    async with open_socket(server, person) as opened:
        await opened.send(b'{"action": "\xff"}', text=True)
        assert await close_code(opened) == 1007


# Clients that may not open a socket


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/ws/nowhere/", {}),
        ("/", {}),
        ("/ws", {}),
        ("/ws//", {}),
        ("/people/", {}),
        ("/ws/probe/", {}),
        ("/ws/", {"origin": None}),
        ("/ws/", {"origin": "null"}),
        ("/ws/", {"origin": "https://evil.example"}),
        ("/ws/", {"origin": "http://evil.example", "host": "evil.example"}),
    ],
)
async def test_a_forbidden_handshake_is_refused_without_a_traceback(
    server: Server, person: Person, path: str, headers: dict[str, str | None]
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with open_socket(server, person, path, headers=headers):
            pass
    assert refused.value.response.status_code in (400, 403)


@pytest.mark.thorough
async def test_thousands_of_handshakes_are_refused_without_a_traceback(server: Server) -> None:
    """Daphne forgets refused ones once a second, possibly before the connection ends."""
    host, _, port = server.url.removeprefix("http://").partition(":")

    async def answer() -> bytes:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(handshake(server.url, path="/ws/nowhere/"))
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n")[0]

    for _ in range(50):
        answers = await asyncio.gather(*(answer() for _ in range(100)))
        assert set(answers) == {b"HTTP/1.1 403 Access denied"}
    assert "Traceback" not in server.log


@pytest.mark.parametrize("session", ["", "x", "0" * 32, "é" * 10, "'--"])
async def test_a_stranger_is_refused_without_a_traceback(server: Server, session: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with open_socket(server, Person("stranger", session)):
            pass
    assert refused.value.response.status_code == 403


async def test_a_heartbeat_is_answered_at_once(server: Server, person: Person) -> None:
    async with visit(server, person) as visitor:
        before = visitor.page.root.text
        await visitor.socket.send('{"action":"beat"}')
        frame = await asyncio.wait_for(visitor.socket.recv(), WAIT_SECONDS)
        assert isinstance(frame, str)
        visitor.page.swap(frame)
        assert visitor.page.root.text == before


async def test_a_heartbeat_inside_a_fragmented_message_is_a_protocol_error(
    server: Server, person: Person
) -> None:
    async with open_socket(server, person) as opened:
        opened.transport.write(BEGIN)
        await asyncio.wait_for(await opened.ping(), WAIT_SECONDS)
        opened.transport.write(BEAT)
        assert await close_code(opened) == PROTOCOL_ERROR
