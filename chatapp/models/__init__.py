"""What is kept: people, upstreams, tool servers, conversations with their messages and their cost.

Methods say what happens (`conversation.ask(…)`, `message.finish(…)`); what concerns many rows is a
queryset method. All of it is synchronous and short: one transaction a call.
"""

from chatapp.models import sequence  # noqa: F401 - what it does after a migration
from chatapp.models.cache import CacheEntry
from chatapp.models.conversations import Conversation, View
from chatapp.models.images import ReplyImage
from chatapp.models.messages import Message
from chatapp.models.processes import Process
from chatapp.models.refusals import NotHere, Refused, StillStreaming
from chatapp.models.suggestions import Suggestion
from chatapp.models.tool_servers import ToolServer
from chatapp.models.turns import Continuation, Prompt, Retry, Turn
from chatapp.models.upstreams import ModelChoice, Upstream
from chatapp.models.usage import Usage
from chatapp.models.users import User

__all__ = [
    "CacheEntry",
    "Continuation",
    "Conversation",
    "Message",
    "ModelChoice",
    "NotHere",
    "Process",
    "Prompt",
    "Refused",
    "ReplyImage",
    "Retry",
    "StillStreaming",
    "Suggestion",
    "ToolServer",
    "Turn",
    "Upstream",
    "Usage",
    "User",
    "View",
]
