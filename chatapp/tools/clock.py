"""The built-in tool: the current date and time."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from chatapp.tools.tool import Tool, ToolResult

CLOCK = Tool(
    name="current_date_and_time",
    own_name="current_date_and_time",
    source="built in",
    description="The current date, weekday and time, in UTC or in the time zone asked for.",
    parameters={
        "type": "object",
        "properties": {
            "timezone": {
                "type": "string",
                "description": "An IANA time zone, for example Europe/Vienna. Default: UTC.",
            }
        },
        "additionalProperties": False,
    },
    asks_first=False,
)


def read_clock(arguments: dict[str, Any]) -> ToolResult:
    """Return the time as a sentence that includes it in ISO 8601."""
    name = arguments.get("timezone") or "UTC"
    try:
        zone = UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        # ValueError for a path, OSError for a folder of the time zone database
        text = f"{str(name)[:100]!r} is not an IANA time zone. An example is Europe/Vienna."
        return ToolResult(text, is_error=True)
    now = datetime.now(zone)
    return ToolResult(f"It is {now:%A}, {now.isoformat(timespec='seconds')} ({name}).")
