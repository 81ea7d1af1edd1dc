"""The tools that models may call: a built-in one, and those of the configured MCP servers.

`shared_registry()` returns the process's `ToolRegistry`. It lists `Tool`s and turns every call into
a `ToolResult`, even if the call fails. The caller must ask the person first if `Tool.asks_first`.
Importing the `mcp` SDK takes 0.8 s and 30 MiB, so only `transports`, `connection` and `servers`
import it, and they are imported when the first server is used.

Imports `models` and what is below it.
"""

from chatapp.tools.clock import CLOCK
from chatapp.tools.registry import (
    ToolRegistry,
    close_shared_registry,
    list_server_tools,
    shared_registry,
)
from chatapp.tools.tool import Progress, Report, Tool, ToolImage, ToolResult

__all__ = [
    "CLOCK",
    "Progress",
    "Report",
    "Tool",
    "ToolImage",
    "ToolRegistry",
    "ToolResult",
    "close_shared_registry",
    "list_server_tools",
    "shared_registry",
]
