"""What is kept: people, upstreams, tool servers, conversations with their messages and their cost.

Methods say what happens (`conversation.ask(…)`, `message.finish(…)`); what concerns many rows is a
queryset method. All of it is synchronous and short: one transaction a call.
"""

from chatapp.models import sequence  # noqa: F401 - what it does after a migration
from chatapp.models.cache import CacheEntry
from chatapp.models.conversations import Conversation, StillStreaming
from chatapp.models.images import ReplyImage
from chatapp.models.messages import Message
from chatapp.models.processes import Process
from chatapp.models.tool_servers import ToolServer
from chatapp.models.upstreams import Upstream
from chatapp.models.usage import Usage
from chatapp.models.users import User

__all__ = [
    "CacheEntry",
    "Conversation",
    "Message",
    "Process",
    "ReplyImage",
    "StillStreaming",
    "ToolServer",
    "Upstream",
    "Usage",
    "User",
]
