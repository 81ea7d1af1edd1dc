"""One MCP server as the app uses it: list its tools and call them, over one kept connection.

The next request replaces a connection that has ended. A call is sent only once: if it is unknown
whether the tool ran, only the person or the model may decide to try again.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self, assert_never

from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from mcp_types import Tool as ListedTool

from chatapp.tools.connection import Connection, ConnectionFailed
from chatapp.tools.settings import ServerSettings
from chatapp.tools.tool import Progress, Report, ToolImage, ToolResult, brief, clean_title

LIST_SECONDS = 30.0  # nobody waits that long: tools are listed in the background
TOOLS_LIMIT = 128  # the most OpenAI accepts in a request
SCHEMA_LIMIT = 32_000  # bytes of JSON
LONGEST_SECONDS = 3600.0  # of a call that reports its progress, unless its server has longer
# Consequences of a failed call: if it was not sent, and if it was but no answer came.
CONSEQUENCES = ("The tool did not run.", "The tool may or may not have run.")


class ServerFailed(Exception):
    """A request to a server failed; the message is a sentence that says why."""


@dataclass(frozen=True)
class OfferedTool:
    """A tool as described by its server, cut to our limits."""

    name: str
    description: str
    parameters: dict[str, Any]
    title: str = ""

    @classmethod
    def of(cls, tool: ListedTool) -> Self:
        titles = tool.title, tool.annotations and tool.annotations.title
        title = next(filter(None, (clean_title(candidate or "") for candidate in titles)), "")
        return cls(tool.name, brief(tool.description or ""), tool.input_schema, title)


class McpServer:
    """An MCP server. Its methods may be called concurrently from any task of the event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.connection: Connection | None = None
        self._busy = 0
        self._is_closed = False

    async def list_tools(self) -> list[OfferedTool]:
        """List the server's tools. Raises `ServerFailed`."""
        tools: list[OfferedTool] = []
        cursor = None
        async with self._request(LIST_SECONDS):
            client = await self.open_client()
            while len(tools) < TOOLS_LIMIT:
                page = await client.list_tools(cursor=cursor)
                tools += [
                    OfferedTool.of(tool)
                    for tool in page.tools
                    if len(json.dumps(tool.input_schema)) <= SCHEMA_LIMIT
                ]
                cursor = page.next_cursor
                if not cursor:
                    break
        return tools[:TOOLS_LIMIT]

    async def call(
        self, name: str, arguments: dict[str, Any], report: Report | None = None
    ) -> ToolResult:
        """Call a tool. Raises `ServerFailed`. Cancelling this cancels the call at the server.

        Each time that the tool reports its progress, it has as much time again.
        """
        seconds = self.settings.timeout_seconds
        async with self._request(seconds, *CONSEQUENCES) as timeout:
            latest = asyncio.get_running_loop().time() + max(seconds, LONGEST_SECONDS)

            has_ended = False

            async def extend(progress: float, total: float | None, message: str | None) -> None:
                if has_ended:  # the SDK may pass on a late report
                    return
                if not timeout.expired():
                    now = asyncio.get_running_loop().time()
                    timeout.reschedule(min(now + seconds, latest))
                if report:
                    report(Progress(progress, total, message or ""))

            client = await self.open_client()
            connection = self.connection
            try:
                result = await client.call_tool(name, arguments, progress_callback=extend)
            except MCPError:
                if connection is None or not connection.is_session_lost:
                    raise
                await connection.aclose()
                client = await self.open_client()
                result = await client.call_tool(name, arguments, progress_callback=extend)
            finally:
                has_ended = True
        images: list[ToolImage] = []
        text = _render_result(result, images)
        return ToolResult.from_text(
            text, self.settings.result_limit, bool(result.is_error), tuple(images)
        )

    async def aclose(self) -> None:
        """End running calls and close the connection; later requests fail."""
        self._is_closed = True
        connection, self.connection = self.connection, None
        if connection:
            await connection.aclose()

    async def open_client(self) -> Client:
        if self._is_closed:
            raise ConnectionFailed("it was removed or its settings were changed")
        if self.connection is None or not self.connection.is_usable:
            self.connection = Connection(self.settings)
        return await self.connection.client()

    @asynccontextmanager
    async def _request(
        self, seconds: float, unsent: str = "", unknown: str = ""
    ) -> AsyncIterator[asyncio.Timeout]:
        """Limit the time of a request and turn all its errors into `ServerFailed`.

        `unsent` and `unknown` are the consequences to add, depending on whether it was sent.
        """
        self._busy += 1
        try:
            began_at = asyncio.get_running_loop().time()
            async with asyncio.timeout(seconds) as timeout:
                yield timeout
        except TimeoutError:
            was_sent = self.connection is not None and self.connection.is_open
            outcome = unknown if was_sent else unsent
            waited = round((timeout.when() or began_at) - began_at, 1)  # more after progress
            raise self._build_failure(
                f"did not answer within {waited:g} seconds", outcome
            ) from None
        except ConnectionFailed as failed:
            raise self._build_failure(f"can't be reached ({failed})", unsent) from None
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                reason = await self._reason_of_end() or error.message
                raise self._build_failure(f"disconnected ({brief(reason, 300)})", unknown) from None
            raise self._build_failure(
                f"returned an error ({brief(error.message, 300)})", ""
            ) from None
        except (ValueError, RuntimeError) as error:  # raised by the SDK for an invalid answer
            reason = brief(str(error), 300)
            raise self._build_failure(
                f"sent an answer that can't be read ({reason})", unknown
            ) from None
        finally:
            self._busy -= 1

    async def _reason_of_end(self) -> str:
        """Return why the connection broke, and close it unless other calls may still use it."""
        connection = self.connection
        if connection is None or (self._busy > 1 and connection.is_usable):
            return ""
        await connection.aclose()
        return connection.reason

    def _build_failure(self, what: str, consequence: str) -> ServerFailed:
        return ServerFailed(f"The tool server {self.settings.name} {what}. {consequence}".strip())


def _render_result(result: CallToolResult, images: list[ToolImage]) -> str:
    """Return the result as text, which names the images that it adds to the list."""
    parts = [_render_block(block, images) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return "\n\n".join(parts) or "The tool returned nothing."


def _render_block(block: ContentBlock, images: list[ToolImage]) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _image(block.data, images)
        case EmbeddedResource(resource=BlobResourceContents() as blob) if _is_image(blob):
            return _image(blob.blob, images)
        case AudioContent():
            return f"[{block.mime_type}, which can't be shown here]"
        case ResourceLink():
            return f"{block.title or block.name}: {block.uri}"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case EmbeddedResource(resource=resource):
            return f"[{resource.uri}, which can't be shown here]"
        case _:
            assert_never(block)


def _is_image(blob: BlobResourceContents) -> bool:
    return (blob.mime_type or "").startswith("image/")


def _image(base64: str, images: list[ToolImage]) -> str:
    images.append(ToolImage(len(images) + 1, base64))
    return f"[Image {len(images)}]"
