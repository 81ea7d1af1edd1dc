"""The toolbox with servers in the database: tools to offer, calls and failures."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from chatapp.models import ToolServer
from chatapp.tools import ToolRegistry, ToolResult, close_shared_registry, shared_registry
from chatapp.tools.clock import CLOCK
from chatapp.tools.settings import ServerSettings
from chatapp.tools.source import ToolSource
from tests.support.present import present
from tests.tools.witness import COMMAND, ROOT, STDIO

ALL = {"echo", "add", "slow", "meet", "fail", "die", "big", "mixed", "environment"}


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    """A server for all tests of this module; it reports events on stdout."""
    with subprocess.Popen([*COMMAND, "http"], stdout=subprocess.PIPE, text=True) as server:
        yield server
        server.kill()


@pytest.fixture(scope="module")
def url(server: subprocess.Popen[str]) -> str:
    assert server.stdout
    return server.stdout.readline().removeprefix("ready").strip()


async def until(server: subprocess.Popen[str], line: str) -> None:
    assert server.stdout
    async with asyncio.timeout(30):
        while (await asyncio.to_thread(server.stdout.readline)).strip() != line:
            pass


@pytest.fixture
async def box(db: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ToolRegistry]:
    """A toolbox that waits long enough for first listings on a busy machine."""
    monkeypatch.setattr("chatapp.tools.registry.PATIENCE_SECONDS", 30.0)
    box = ToolRegistry()
    yield box
    await box.aclose()


@pytest.fixture
async def files(db: None, url: str) -> ToolServer:
    return await ToolServer.objects.acreate(
        name="files", url=url, unasked_tools="echo\n add \n", result_limit_kb=1
    )


async def call_by_name(box: ToolRegistry, name: str, arguments: dict[str, object]) -> ToolResult:
    """Call a tool by name, as for a model."""
    return await box.call(present(await box.find(name)), arguments)


async def test_without_servers_only_the_clock_is_offered(box: ToolRegistry) -> None:
    assert await box.tools() == [CLOCK]
    assert (await call_by_name(box, CLOCK.name, {})).text.startswith("It is ")


async def test_a_servers_tools_are_offered_with_its_name_as_prefix(
    box: ToolRegistry, files: ToolServer
) -> None:
    tools = await box.tools()
    assert {f"files__{name}" for name in ALL} < {tool.name for tool in tools}
    assert not await box.problems()
    echo = await box.find("files__echo")
    assert echo
    assert (echo.source, echo.own_name, echo.asks_first) == ("files", "echo", False)
    assert echo.as_request()["function"]["parameters"]["type"] == "object"


async def test_the_title_of_a_tool_is_known_once_it_was_listed(
    box: ToolRegistry, files: ToolServer
) -> None:
    assert box.get_title("files__add") == ""
    titles = {tool.name: tool.title for tool in await box.tools()}
    assert titles["files__add"] == box.get_title("files__add") == "Sum of <b>two</b>"
    assert box.get_title("files__echo") == box.get_title("add") == ""
    assert box.titles() == {name: title for name, title in titles.items() if name != CLOCK.name}


async def test_a_person_is_asked_first_unless_a_tool_is_exempt(
    box: ToolRegistry, files: ToolServer
) -> None:
    asking = {tool.own_name for tool in await box.tools() if tool.asks_first}
    assert asking & {*ALL} == ALL - {"echo", "add"}
    assert not any(tool.always_asks for tool in await box.tools())
    files.unasked_tools, files.asks_first, files.always_asks = "", False, True
    await files.asave()
    offered = await box.tools()
    assert not any(tool.asks_first for tool in offered)
    assert {tool.own_name for tool in offered if tool.always_asks} >= ALL


async def test_a_tool_of_a_server_that_is_switched_off_is_not_found(
    box: ToolRegistry, files: ToolServer
) -> None:
    assert await box.find("files__echo", None, [files.pk + 1])
    assert await box.find("files__echo", None, [files.pk]) is None


async def test_a_call_is_sent_to_the_tools_server(box: ToolRegistry, files: ToolServer) -> None:
    assert (await call_by_name(box, "files__echo", {"text": "hello"})).text == "hello"


async def test_a_result_is_cut_at_the_servers_limit(box: ToolRegistry, files: ToolServer) -> None:
    assert "the limit is 1,000" in (await call_by_name(box, "files__big", {"size": 2000})).text


async def test_failures_become_results(box: ToolRegistry, files: ToolServer) -> None:
    results = [
        await call_by_name(box, "files__echo", {"text": float("nan")}),
        await call_by_name(box, "files__add", {"a": "one"}),
        await call_by_name(box, "files__fail", {}),
    ]
    assert all(result.is_error and result.text for result in results)
    assert results[0].text.startswith("The tool did not run: the arguments can't be sent as JSON")


async def test_a_failing_server_is_reported_and_does_not_affect_others(
    box: ToolRegistry, files: ToolServer
) -> None:
    await ToolServer.objects.acreate(name="gone", url="http://127.0.0.1:1/mcp")
    assert {"current_date_and_time", "files__echo"} <= {tool.name for tool in await box.tools()}
    assert await box.problems() == [
        "The tool server gone can't be reached (All connection attempts failed)."
    ]


async def test_a_slow_server_does_not_delay_the_chat(
    box: ToolRegistry, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.tools.registry.PATIENCE_SECONDS", 0.05)
    await ToolServer.objects.acreate(
        name="silent",
        transport=ToolServer.Transport.STDIO,
        command=f"{sys.executable} -c 'import sys; sys.stdin.read()'",
    )
    assert await box.tools() == [CLOCK]
    assert await box.problems() == ["The tool server silent has not listed its tools yet."]


async def test_an_old_listing_is_refreshed_in_the_background(
    box: ToolRegistry, files: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[ToolSource] = []
    renew = ToolSource.renew

    def record_renewal(source: ToolSource) -> asyncio.Task[None] | None:
        renewed.append(source)
        return renew(source)

    monkeypatch.setattr(ToolSource, "renew", record_renewal)
    await box.tools()
    [source] = renewed
    before = source.listing
    monkeypatch.setattr("chatapp.tools.source.FRESH_SECONDS", 0.0)
    await box.tools()
    assert renewed == [source, source]
    await present(renew(source))
    assert source.listing is not before
    assert source.listing == before


async def test_a_disabled_server_is_closed_and_its_tools_disappear(
    box: ToolRegistry, files: ToolServer, server: subprocess.Popen[str]
) -> None:
    call = asyncio.create_task(call_by_name(box, "files__slow", {"name": "a"}))
    await until(server, "running a")
    echo = present(await box.find("files__echo"))
    files.enabled = False
    await files.asave()
    assert await box.tools() == [CLOCK]
    assert (await call).is_error
    late = await box.call(echo, {"text": "a person took their time to allow it"})
    assert (late.text, late.is_error) == ("The tool server files is no longer available.", True)


@pytest.mark.thorough
async def test_a_command_that_dies_gives_a_result_and_is_restarted(
    box: ToolRegistry, db: None
) -> None:
    await ToolServer.objects.acreate(
        name="files",
        transport=ToolServer.Transport.STDIO,
        command=STDIO,
        secrets=f"PYTHONPATH={ROOT}",
    )
    died = await call_by_name(box, "files__die", {})
    assert died.is_error
    assert died.text.startswith("The tool server files disconnected (Segmentation fault")
    assert (await call_by_name(box, "files__echo", {"text": "back"})).text == "back"


async def test_a_call_overtaken_by_a_change_does_not_start_the_server(
    box: ToolRegistry, files: ToolServer
) -> None:
    source = ToolSource(ServerSettings.of(files))
    call = asyncio.create_task(source.call("echo", {"text": "hello"}))
    await asyncio.sleep(0)  # it waits for the import, in a thread
    await source.aclose()
    assert "its settings were changed" in (await call).text


async def test_a_changed_server_is_reconnected(box: ToolRegistry, files: ToolServer) -> None:
    await box.tools()
    files.name = "documents"
    await files.asave()
    assert (await call_by_name(box, "documents__echo", {"text": "hello"})).text == "hello"


async def test_cancelling_a_call_cancels_it_at_the_server(
    box: ToolRegistry, files: ToolServer, server: subprocess.Popen[str]
) -> None:
    call = asyncio.create_task(call_by_name(box, "files__slow", {"name": "a"}))
    await until(server, "running a")
    call.cancel()
    await until(server, "cancelled a")
    await asyncio.wait([call])
    assert call.cancelled()


async def test_the_process_has_one_toolbox(db: None) -> None:
    first = shared_registry()
    assert shared_registry() is first
    await close_shared_registry()
    assert shared_registry() is not first
    await close_shared_registry()


@pytest.mark.server
def test_the_sdk_is_not_imported_without_servers() -> None:
    script = (
        "import django, sys; django.setup(); import chatapp.urls, chatapp.tools;"
        "sys.exit(bool({'mcp', 'pydantic', 'httpx2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
