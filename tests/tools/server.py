"""A real MCP server for tests: `python -m tests.tools.server stdio|http|legacy-http`.

It reports what happens, one line per event (`ready URL`, `started`, `running NAME`, `cancelled
NAME`), to the Unix socket in WITNESS, or else to stdout unless that carries MCP. The other end is
`tests.tools.witness`.
"""

import asyncio
import base64
import itertools
import os
import socket
import sys
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)

from tests.support.pictures import png

server = MCPServer("test", log_level="ERROR")
witness = socket.socket(socket.AF_UNIX) if "WITNESS" in os.environ else None
if witness:
    witness.connect(os.environ["WITNESS"])


def report(line: str) -> None:
    if witness:
        witness.sendall(line.encode() + b"\n")
    elif sys.argv[1] != "stdio":
        print(line, flush=True)


@server.tool()
async def echo(text: str) -> CallToolResult:
    """Gives back what it is given."""
    return CallToolResult(content=[TextContent(text=text)])


@server.tool(title=" Sum\n of <b>two</b>\u202e", annotations=ToolAnnotations(title="Not this"))
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def slow(name: str) -> str:
    """Runs until it is cancelled."""
    report(f"running {name}")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        report(f"cancelled {name}")
        raise
    return "never"


meeting = asyncio.Event()


@server.tool()
async def meet(name: str) -> str:
    """Returns when a second call of it runs."""
    if name == "first":
        report("running first")
        await asyncio.wait_for(meeting.wait(), 15)
    meeting.set()
    return f"{name} met the other"


@server.tool(title="\u200b", annotations=ToolAnnotations(title="Fail " * 40))
async def fail() -> str:
    """Fails."""
    raise ValueError("the disk is full")


@server.tool()
async def die() -> str:
    """Takes the server down with it."""
    print("Segmentation fault, more or less", file=sys.stderr, flush=True)
    os._exit(11)


@server.tool()
async def pid() -> int:
    """Tells the number of its process."""
    return os.getpid()


@server.tool()
async def big(size: int) -> CallToolResult:
    """Gives as many bytes as requested."""
    return CallToolResult(content=[TextContent(text="ü" * (size // 2))])


@server.tool("mixed")
async def answer_in_kinds() -> CallToolResult:
    """Gives what is not text."""
    return CallToolResult(
        content=[
            TextContent(text="<script>alert(1)</script>\0"),
            ImageContent(data="aGk=", mime_type="image/png"),
            ResourceLink(uri="file:///a.txt", name="a.txt"),
        ]
    )


@server.tool()
async def draw(count: int) -> CallToolResult:
    """Draws pictures and something that is no picture. The last picture is a resource."""
    data = [base64.b64encode(png(3000, 30 + number)).decode() for number in range(count)]
    last = BlobResourceContents(uri="file:///last.png", mime_type="image/png", blob=data[-1])
    return CallToolResult(
        content=[
            TextContent(text="Here:"),
            *(ImageContent(data=image, mime_type="image/png") for image in data[:-1]),
            EmbeddedResource(resource=last),
            ImageContent(data="PHN2Zy8+", mime_type="image/svg+xml"),
        ]
    )


@server.tool()
async def search(steps: int, seconds: float, context: Context) -> str:
    """Reports its progress, then finds something."""
    for step in range(steps):
        await context.report_progress(step + 1, steps, f"Searching {step + 1} of {steps}")
        await asyncio.sleep(seconds)
    return "found"


@server.tool()
async def count(name: str, context: Context) -> str:
    """Reports numbers until it is cancelled."""
    for number in itertools.count():
        await context.report_progress(number)
        await asyncio.sleep(0.01)
    return "never"


@server.tool()
async def environment() -> list[str]:
    """The names of what it finds in its environment."""
    return sorted(os.environ)


@server.tool(name="rm -rf / <b>ü</b>", description="<img src=x>" + "long " * 10_000)
async def strange() -> str:
    return "ran"


def serve_http(forgets_new_protocol: bool) -> None:
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("WITNESS_PORT", "0"))))
    app = server.streamable_http_app()

    async def as_before_2026(scope: Any, receive: Any, send: Any) -> None:
        """Act like a server that does not know the protocol without sessions."""
        if (b"mcp-method", b"server/discover") in scope.get("headers", []):
            scope = {**scope, "path": "/nothing-here"}
        await app(scope, receive, send)

    config = uvicorn.Config(
        as_before_2026 if forgets_new_protocol else app, log_level="error", lifespan="on"
    )
    report(f"ready http://127.0.0.1:{listener.getsockname()[1]}/mcp")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        report("started")
        server.run("stdio")
    else:
        serve_http(sys.argv[1] == "legacy-http")
