"""The tools that models may call: one built in, and those of the configured MCP servers.

`shared_toolbox()` is the process's `Toolbox`. It lists `Tool`s and turns every call into a
`ToolResult`, whatever goes wrong on the way. Whether a person must allow a call first is for the
caller to see to: `Tool.asks_first`. The `mcp` SDK takes 0.8 s and 30 MiB to import, so only
`transports`, `connection` and `servers` import it, and they are imported when the first server is
used.
"""

from chatapp.tools.clock import CLOCK
from chatapp.tools.tool import Tool, ToolResult
from chatapp.tools.toolbox import Toolbox, close_shared_toolbox, offered_by, shared_toolbox

__all__ = [
    "CLOCK",
    "Tool",
    "ToolResult",
    "Toolbox",
    "close_shared_toolbox",
    "offered_by",
    "shared_toolbox",
]
