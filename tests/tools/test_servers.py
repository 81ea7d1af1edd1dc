"""Real MCP servers: a command over stdio, and HTTP with the protocol of 2026 and the older one.

The tests of this module share servers, except for tests that kill one.
"""

import asyncio
import base64
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from mcp_types import CallToolResult, TextContent

from chatapp.tools import Progress, servers
from chatapp.tools.servers import McpServer, ServerFailed
from chatapp.tools.settings import Command, HttpEndpoint, ServerSettings
from chatapp.upstream import resolver
from tests.support.pictures import png
from tests.support.present import present
from tests.support.profile import sample_params
from tests.tools.witness import COMMAND, WAIT_SECONDS, HttpServer, Witness, listening

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.server]

LIMIT = 1000


def build_settings(reached_by: HttpEndpoint | Command, seconds: float = 30) -> ServerSettings:
    return ServerSettings("files", reached_by, seconds, LIMIT)


def build_http_settings(server: HttpServer) -> ServerSettings:
    return build_settings(HttpEndpoint(server.url))


def command(witness: Witness) -> Command:
    return Command((*COMMAND, "stdio"), tuple(witness.environment.items()))


@asynccontextmanager
async def open_server(settings: ServerSettings) -> AsyncIterator[McpServer]:
    server = McpServer(settings)
    try:
        yield server
    finally:
        await server.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def witness() -> AsyncIterator[Witness]:
    async with listening() as witness:
        yield witness


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["stdio", "http", "legacy-http"]
)
async def reached_by(
    request: pytest.FixtureRequest, witness: Witness
) -> AsyncIterator[HttpEndpoint | Command]:
    async with AsyncExitStack() as stack:
        if request.param == "stdio":
            yield command(witness)
        else:
            yield HttpEndpoint(
                (await stack.enter_async_context(witness.http_server(request.param))).url
            )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(reached_by: HttpEndpoint | Command) -> AsyncIterator[McpServer]:
    async with open_server(build_settings(reached_by)) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mortal(witness: Witness) -> AsyncIterator[McpServer]:
    """A command that tests end; it begins again with the next call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-very-secret")
        async with open_server(build_settings(command(witness))) as server:
            yield server


async def get_failure(awaitable: Any) -> str:
    with pytest.raises(ServerFailed) as failed:
        await awaitable
    return str(failed.value)


async def test_tools_are_listed_with_bounded_descriptions(server: McpServer) -> None:
    tools = {tool.name: tool for tool in await server.list_tools()}
    assert tools["add"].parameters["required"] == ["a", "b"]
    assert tools["echo"].description == "Gives back what it is given."
    strange = tools["rm -rf / <b>ü</b>"]
    assert strange.description.startswith("<img src=x>long")
    assert len(strange.description) <= 1024


async def test_titles_are_one_short_line_without_invisible_characters(server: McpServer) -> None:
    titles = {tool.name: tool.title for tool in await server.list_tools()}
    assert titles["add"] == "Sum of <b>two</b>"
    assert titles["fail"] == ("Fail " * 16).strip() + "…"
    assert titles["echo"] == ""


async def test_a_call_returns_its_text(server: McpServer) -> None:
    result = await server.call("echo", {"text": "Grüße 🦊 \u2028 <b>"})
    assert (result.text, result.is_error) == ("Grüße 🦊 \u2028 <b>", False)


async def test_a_tool_with_any_name_can_be_called(server: McpServer) -> None:
    assert (await server.call("rm -rf / <b>ü</b>", {})).text == "ran"


async def test_content_other_than_text_is_named(server: McpServer) -> None:
    assert (await server.call("mixed", {})).text.split("\n\n") == [
        "<script>alert(1)</script>\N{REPLACEMENT CHARACTER}",
        "[Image 1]",
        "a.txt: file:///a.txt",
    ]


async def test_images_are_returned_beside_the_text_that_names_them(server: McpServer) -> None:
    result = await server.call("draw", {"count": 2})
    assert result.text.split("\n\n") == ["Here:", "[Image 1]", "[Image 2]", "[Image 3]"]
    assert [image.number for image in result.images] == [1, 2, 3]
    assert base64.b64decode(result.images[1].base64) == png(3000, 31)


async def test_a_tool_that_reports_its_progress_has_more_time(
    reached_by: HttpEndpoint | Command,
) -> None:
    """Each report is soon after the one before, and all of them take longer than the timeout."""
    reports: list[Progress] = []
    async with open_server(build_settings(reached_by, seconds=4)) as server:
        await server.list_tools()  # which starts it
        arguments = {"steps": 6, "seconds": 1}
        result = await server.call("search", arguments, reports.append)
    assert result.text == "found"
    assert [progress.words for progress in reports] == [
        f"Searching {progress} of 6" for progress in range(1, 7)
    ]


async def test_progress_extends_a_call_up_to_a_bound(
    reached_by: HttpEndpoint | Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "LONGEST_SECONDS", 1.0)
    async with open_server(build_settings(reached_by, seconds=1)) as server:
        await server.list_tools()
        failure = await get_failure(server.call("count", {"name": "one"}))
    assert "did not answer within 1 seconds" in failure


async def test_progress_after_the_result_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Callable[..., Any]] = []
    reports: list[Progress] = []

    class Client:
        async def call_tool(self, *_: object, progress_callback: Callable[..., Any]) -> object:
            late.append(progress_callback)
            await progress_callback(1, 2, None)
            return CallToolResult(content=[TextContent(text="found")])

    async def client(_: McpServer) -> Client:
        return Client()

    monkeypatch.setattr(McpServer, "open_client", client)
    server = McpServer(build_settings(HttpEndpoint("http://files.example/")))
    assert (await server.call("search", {}, reports.append)).text == "found"
    await late[0](2, 2, None)
    assert [progress.words for progress in reports] == ["1 of 2"]


@pytest.mark.parametrize("call", [("fail", {}), ("add", {"a": "one"}), ("no-such-tool", {})])
async def test_a_tool_that_fails_gives_an_error(
    server: McpServer, call: tuple[str, dict[str, Any]]
) -> None:
    assert (await server.call(*call)).is_error


async def test_a_long_result_is_cut(server: McpServer) -> None:
    result = await server.call("big", {"size": 300_000})
    assert result.text.endswith("[The result was cut: it has 300,000 bytes, the limit is 1,000.]")
    assert len(result.text.encode()) < LIMIT + 100


async def test_two_calls_run_concurrently(server: McpServer, witness: Witness) -> None:
    first = asyncio.create_task(server.call("meet", {"name": "first"}))
    await witness.until("running first")
    assert (await server.call("meet", {"name": "second"})).text == "second met the other"
    assert (await first).text == "first met the other"


async def test_cancelling_a_call_cancels_only_that_call_at_the_server(
    server: McpServer, witness: Witness
) -> None:
    calls = [asyncio.create_task(server.call("slow", {"name": name})) for name in ("a", "b")]
    await witness.until("running a")
    await witness.until("running b")
    calls[0].cancel()
    await witness.until("cancelled a")
    assert (await server.call("echo", {"text": "still here"})).text == "still here"
    assert not calls[1].done()
    calls[1].cancel()
    await witness.until("cancelled b")
    await asyncio.wait(calls)
    assert all(call.cancelled() for call in calls)


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server(
    server: McpServer,
    reached_by: HttpEndpoint | Command,
    witness: Witness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await server.call("echo", {"text": "connected"})
    monkeypatch.setattr(server, "settings", build_settings(reached_by, seconds=0.5))
    failure = await get_failure(server.call("slow", {"name": "c"}))
    await witness.until("cancelled c")
    assert "did not answer within 0.5 seconds" in failure
    assert "The tool may or may not have run." in failure


async def test_closing_ends_running_calls(
    reached_by: HttpEndpoint | Command, witness: Witness
) -> None:
    server = McpServer(build_settings(reached_by))
    call = asyncio.create_task(server.call("slow", {"name": "d"}))
    await witness.until("running d")
    await server.aclose()
    assert "disconnected" in await get_failure(call)
    assert "its settings were changed" in await get_failure(server.call("echo", {}))


async def test_a_command_that_dies_is_reported_with_its_stderr_and_restarted(
    mortal: McpServer,
) -> None:
    failure = await get_failure(mortal.call("die", {}))
    assert "disconnected (Segmentation fault, more or less)" in failure
    assert (await mortal.call("echo", {"text": "back"})).text == "back"


async def test_a_command_that_ends_between_calls_is_restarted(mortal: McpServer) -> None:
    await mortal.call("echo", {"text": "hello"})
    connection = present(mortal.connection)
    os.kill(int((await mortal.call("pid", {})).text), signal.SIGKILL)
    async with asyncio.timeout(WAIT_SECONDS):
        while connection.is_usable:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
    assert (await mortal.call("echo", {"text": "back"})).text == "back"


async def test_a_command_does_not_inherit_the_apps_environment(mortal: McpServer) -> None:
    names = (await mortal.call("environment", {})).text.split()
    assert "WITNESS" in names
    assert "OPENAI_API_KEY" not in names


@pytest.mark.parametrize("kind", sample_params(["http", "legacy-http"]))
async def test_a_server_killed_during_a_call_is_used_again_when_it_is_back(
    witness: Witness, kind: str
) -> None:
    async with (
        witness.http_server(kind) as first,
        open_server(build_http_settings(first)) as server,
    ):
        call = asyncio.create_task(server.call("slow", {"name": "e"}))
        await witness.until("running e")
        await first.kill()
        assert "disconnected" in await get_failure(call)
        failure = await get_failure(server.call("echo", {"text": "anyone?"}))
        assert "can't be reached" in failure
        assert failure.endswith("The tool did not run.")
        async with witness.http_server(kind, get_port(first)):
            assert (await server.call("echo", {"text": "back"})).text == "back"


async def test_a_session_forgotten_by_the_server_is_reopened(witness: Witness) -> None:
    async with (
        witness.http_server("legacy-http") as first,
        open_server(build_http_settings(first)) as server,
    ):
        await server.call("echo", {"text": "hello"})
        await first.kill()
        async with witness.http_server("legacy-http", get_port(first)):
            calls = [server.call("echo", {"text": text}) for text in ("one", "two")]
            assert [result.text for result in await asyncio.gather(*calls)] == ["one", "two"]


def get_port(server: HttpServer) -> int:
    return int(server.url.rsplit(":", 1)[1].split("/")[0])


async def test_a_missing_command_is_reported() -> None:
    async with open_server(build_settings(Command(("/no/such/program",)))) as server:
        failure = await get_failure(server.list_tools())
    assert "'/no/such/program' can't be run (No such file or directory)" in failure


async def test_a_command_that_is_not_a_server_is_reported_with_its_stderr() -> None:
    script = "raise SystemExit('no module named wiki')"
    async with open_server(build_settings(Command((sys.executable, "-c", script)))) as server:
        assert "no module named wiki" in await get_failure(server.list_tools())


async def test_connecting_to_a_silent_command_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatapp.tools.connection.CONNECT_SECONDS", 0.3)
    silent = Command((sys.executable, "-c", "import sys; sys.stdin.read()"))
    async with open_server(build_settings(silent)) as server:
        failure = await get_failure(server.call("echo", {}))
    assert "can't be reached (it did not answer within 0" in failure


async def test_a_hanging_host_name_affects_only_its_own_server(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop looks up names in only a few threads, which all servers would share."""
    monkeypatch.setattr(resolver, "LOOK_UP_SECONDS", 0.3)
    go, getaddrinfo = threading.Event(), socket.getaddrinfo
    threads: list[str] = []

    def look_up(host: str, *args: Any, **options: Any) -> object:
        threads.append(threading.current_thread().name)
        assert host == "localhost" or go.wait(20)
        return getaddrinfo("127.0.0.1", *args, **options)

    async with witness.http_server("http") as good:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        by_name = good.url.replace("127.0.0.1", "localhost")
        hosts = [f"http://mcp{number}.example/mcp" for number in range(40)]
        async with AsyncExitStack() as stack:
            hanging = [
                await stack.enter_async_context(open_server(build_settings(HttpEndpoint(url))))
                for url in hosts
            ]
            failing = [asyncio.create_task(get_failure(server.list_tools())) for server in hanging]
            async with open_server(build_settings(HttpEndpoint(by_name))) as server:
                assert await server.list_tools()
            for failure in await asyncio.gather(*failing):
                assert "because its name server does not answer" in failure
        go.set()
    assert len(threads) == 41
    assert all(name.startswith("look-up of") for name in threads)


Answer = Callable[[asyncio.StreamWriter], None]


@asynccontextmanager
async def answering(head: str, body: bytes = b"") -> AsyncIterator[str]:
    """Run a server that sends this answer to every request; yield its URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {head}\r\ncontent-length: {len(body)}\r\n".encode())
        writer.write(b"connection: close\r\n\r\n" + body)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        ("401 Unauthorized", b"", "HTTP 401 Unauthorized"),
        ("502 Bad Gateway", b"<html>", "HTTP 502 Bad Gateway"),
        ("200 OK\r\ncontent-type: text/html", b"<h1>Hi", "Unexpected content type: text/html"),
        ("200 OK\r\ncontent-type: application/json", b"{", "Failed to parse JSON"),
        ("200 OK\r\ncontent-type: application/json", b"[" * 2**16, "Failed to parse JSON"),
        ("200 OK\r\ncontent-encoding: gzip", b"", "compressed"),
        ("307 Elsewhere\r\nlocation: http://elsewhere.test/", b"", "Redirect to http://elsewhere"),
        (
            "200 OK\r\ncontent-type: application/json",
            b" " * (16 * 2**20 + 1),
            "longer than 16,777,216 bytes",
        ),
    ],
)
async def test_a_server_that_is_not_a_tool_server_is_reported(
    head: str, body: bytes, message: str
) -> None:
    async with (
        answering(head, body) as url,
        open_server(build_settings(HttpEndpoint(url))) as server,
    ):
        assert message in await get_failure(server.list_tools())


async def test_headers_are_sent() -> None:
    seen: asyncio.Queue[bytes] = asyncio.Queue()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.put_nowait(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"
        endpoint = HttpEndpoint(url, (("Authorization", "Bearer key"),))
        async with open_server(build_settings(endpoint)) as server:
            await get_failure(server.list_tools())
    assert b"\r\nauthorization: bearer key\r\n" in (await seen.get()).lower()
