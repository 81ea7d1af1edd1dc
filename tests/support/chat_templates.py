"""The rules of the strictest chat templates, for what an upstream is sent.

Each raises `Refused` as the server would answer 400. They follow the templates that models publish
(Gemma 3, Mistral Small 3) and what Anthropic's and vLLM's APIs check.
"""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise

from chatapp.upstream.wire.dialects import ChatMessage

Messages = Sequence[ChatMessage]


class Refused(Exception):
    """The server would answer 400."""


def refuse(is_wrong: object, why: str) -> None:
    if is_wrong:
        raise Refused(why)


def gemma(messages: Messages) -> None:
    """Has no roles besides user and assistant, which must alternate, beginning with the user."""
    roles = [one["role"] for one in messages]
    refuse("system" in roles, "System role not supported")
    said = [role for role in roles if role != "tool"]
    wanted = ["user", "assistant"] * len(said)
    if "tool" not in roles:
        message = "Conversation roles must alternate user/assistant/user/assistant/..."
        refuse(said != wanted[: len(said)], message)


def mistral(messages: Messages) -> None:
    """Takes a system message first; after the results of tools the assistant must speak."""
    roles = [str(one["role"]) for one in messages]
    refuse("system" in roles[1:], "a system message that is not the first")
    spoken = roles[1:] if roles[0] == "system" else roles
    follows = {
        "user": {"assistant"},
        "assistant": {"user", "tool"},
        "tool": {"tool", "assistant"},
    }
    refuse(spoken[0] != "user", f"begins with {spoken[0]}")
    for one, after in pairwise(spoken):
        refuse(after not in follows[one], f"unexpected role {after!r} after role {one!r}")
    refuse(spoken[-1] == "assistant", "expected last role User or Tool for serving")


def anthropic(messages: Messages) -> None:
    """Refuses blank text, and tool calls that are not all answered in the next message."""
    for one in messages:
        content = one.get("content")
        if content is not None or not one.get("tool_calls"):
            refuse(not str(content or "").strip(), "text content blocks must be non-empty")
    asked: list[object] = []
    for one in messages:
        if one["role"] == "tool":
            refuse(one["tool_call_id"] not in asked, "a tool_result without its tool_use")
            asked.remove(one["tool_call_id"])
            continue
        refuse(asked, f"tool_use ids were found without tool_result blocks: {asked}")
        calls = one.get("tool_calls") or []
        assert isinstance(calls, list)
        asked = [call["id"] for call in calls]
        refuse(len(set(asked)) != len(asked), "tool_use ids must be unique")
    refuse(asked, "tool_use ids were found without tool_result blocks")


def vllm(messages: Messages) -> None:
    """Parses the arguments of tool calls, which the templates of several models go through."""
    for one in messages:
        calls = one.get("tool_calls") or []
        assert isinstance(calls, list)
        for call in calls:
            refuse(not call["function"]["name"], "a call without a name")
            arguments = json.loads(call["function"]["arguments"])
            refuse(not isinstance(arguments, dict), "arguments that are no object")


WITH_SYSTEM: tuple[Callable[[Messages], None], ...] = (mistral, anthropic, vllm)


def check(messages: Messages) -> None:
    """Raise `Refused` if any of them would refuse the messages, a system message apart."""
    for template in WITH_SYSTEM:
        template(messages)
    gemma([one for one in messages if one["role"] != "system"])
