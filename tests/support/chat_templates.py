"""The rules of the strictest chat templates for what an upstream is sent.

Each raises `TemplateRefusal` where the server would answer 400. They follow the templates that
models publish (Gemma 3, Mistral Small 3) and what the APIs of Anthropic and vLLM check.
"""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise

from chatapp.upstream.wire.requests.dialects import ChatMessage

Messages = Sequence[ChatMessage]


class TemplateRefusal(Exception):
    """The server would answer 400."""


def refuse(is_wrong: object, why: str) -> None:
    if is_wrong:
        raise TemplateRefusal(why)


def gemma(messages: Messages) -> None:
    """Allow only the roles user and assistant, which must alternate and begin with user."""
    roles = [entry["role"] for entry in messages]
    refuse("system" in roles, "System role not supported")
    spoken_roles = [role for role in roles if role != "tool"]
    expected_roles = ["user", "assistant"] * len(spoken_roles)
    if "tool" not in roles:
        message = "Conversation roles must alternate user/assistant/user/assistant/..."
        refuse(spoken_roles != expected_roles[: len(spoken_roles)], message)


def mistral(messages: Messages) -> None:
    """Allow a system message only first; the assistant must speak after tool results."""
    roles = [str(message["role"]) for message in messages]
    refuse("system" in roles[1:], "a system message that is not the first")
    spoken = roles[1:] if roles[0] == "system" else roles
    follows = {
        "user": {"assistant"},
        "assistant": {"user", "tool"},
        "tool": {"tool", "assistant"},
    }
    refuse(spoken[0] != "user", f"begins with {spoken[0]}")
    for role, after in pairwise(spoken):
        refuse(after not in follows[role], f"unexpected role {after!r} after role {role!r}")
    refuse(spoken[-1] == "assistant", "expected last role User or Tool for serving")


def anthropic(messages: Messages) -> None:
    """Refuse blank text, and tool calls that are not all answered by the next messages."""
    for message in messages:
        content = message.get("content")
        if content is not None or not message.get("tool_calls"):
            refuse(not str(content or "").strip(), "text content blocks must be non-empty")
    pending: list[object] = []
    for message in messages:
        if message["role"] == "tool":
            refuse(message["tool_call_id"] not in pending, "a tool_result without its tool_use")
            pending.remove(message["tool_call_id"])
            continue
        refuse(pending, f"tool_use ids were found without tool_result blocks: {pending}")
        calls = message.get("tool_calls") or []
        assert isinstance(calls, list)
        pending = [call["id"] for call in calls]
        refuse(len(set(pending)) != len(pending), "tool_use ids must be unique")
    refuse(pending, "tool_use ids were found without tool_result blocks")


def vllm(messages: Messages) -> None:
    """Parse the arguments of tool calls, as the templates of several models do."""
    for message in messages:
        calls = message.get("tool_calls") or []
        assert isinstance(calls, list)
        for call in calls:
            refuse(not call["function"]["name"], "a call without a name")
            arguments = json.loads(call["function"]["arguments"])
            refuse(not isinstance(arguments, dict), "arguments that are no object")


WITH_SYSTEM: tuple[Callable[[Messages], None], ...] = (mistral, anthropic, vllm)


def check(messages: Messages) -> None:
    """Raise `TemplateRefusal` if a template refuses the messages; Gemma gets no system message."""
    for template in WITH_SYSTEM:
        template(messages)
    gemma([message for message in messages if message["role"] != "system"])
