"""Tool calls as an upstream sends them, and replies as they were saved."""

from uuid import UUID

from chatapp.models import Message
from tests.support.fake_upstream import choice


def call(name: str, arguments: str, index: int = 0) -> bytes:
    """Return a whole tool call in one delta."""
    function = {"name": name, "arguments": arguments}
    return choice({"tool_calls": [{"index": index, "id": f"call_{index}", "function": function}]})


def fragment(arguments: str, index: int = 0) -> bytes:
    return choice({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})


async def load_saved_reply(reply: UUID) -> Message:
    return await Message.objects.select_related("usage").aget(pk=reply)
