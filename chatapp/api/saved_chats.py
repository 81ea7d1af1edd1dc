"""Takes apart the messages of a request that is to be saved as a chat.

What a chat can't hold is refused, so that nothing is left out of it silently.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from chatapp.api.responses import ApiError
from chatapp.models.conversations.turns.api_chats import ApiChat, ScriptMessage
from chatapp.models.library.presets import MAX_SYSTEM_PROMPT_LENGTH
from chatapp.text.visible import from_first_visible

SYSTEM = ("system", "developer")
SAVED_MEMBERS = frozenset(
    {"role", "content", "reasoning_content", "refusal"}
)  # members of a message
REQUEST_ONLY_PARAMETERS = frozenset(
    {"user", "safety_identifier", "prompt_cache_key"}
)  # not of the chat

LEAVE_OUT = "Leave “store” out, or set it to false."
TOOLS = f"A chat with tools can't be saved. {LEAVE_OUT}"
IMAGES = f"A chat with images or files can't be saved. {LEAVE_OUT}"
LATE_SYSTEM = f"To be saved, a chat has system messages at its beginning only. {LEAVE_OUT}"
ORDER = (
    "To be saved, messages of the user and the assistant must take turns, and the user's must be "
    f"first and last. {LEAVE_OUT}"
)
BLANK = f"A message of the user without text can't be saved. {LEAVE_OUT}"
UNKNOWN = f"A message with “{{}}” can't be saved. {LEAVE_OUT}"
NO_TEXT = f"A message whose “{{}}” isn't a text can't be saved. {LEAVE_OUT}"
NUL = f"Text with NUL characters can't be saved. {LEAVE_OUT}"
LONG = f"A system prompt that is saved has at most {MAX_SYSTEM_PROMPT_LENGTH:,} characters."


def build_chat(messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, object]) -> ApiChat:
    """Return the chat with these messages, which are valid. Raises `ApiError`."""
    if any(message["role"] == "tool" or message.get("tool_calls") for message in messages):
        raise _error(TOOLS)
    entries = [
        (message["role"], _message(message, number)) for number, message in enumerate(messages)
    ]
    count = next((n for n, (role, _) in enumerate(entries) if role not in SYSTEM), len(entries))
    system = "\n\n".join(message.content for _, message in entries[:count])
    if len(system) > MAX_SYSTEM_PROMPT_LENGTH:
        raise _error(LONG)
    if "\0" in system or "\\u0000" in json.dumps(parameters):
        raise _error(NUL)
    turns = entries[count:]
    if any(role in SYSTEM for role, _ in turns):
        raise _error(LATE_SYSTEM)
    if len(turns) % 2 == 0 or any(
        message.is_prompt == bool(number % 2) for number, (_, message) in enumerate(turns)
    ):
        raise _error(ORDER)
    return ApiChat(
        uuid4(), [message for _, message in turns], system, _filter_parameters(parameters)
    )


def _message(raw_message: Mapping[str, Any], number: int) -> ScriptMessage:
    for name, value in raw_message.items():
        if value and name not in SAVED_MEMBERS:
            raise _error(UNKNOWN.format(name[:50]), f"messages[{number}]")
    for name in ("reasoning_content", "refusal"):
        if not isinstance(raw_message.get(name), str | None):
            raise _error(NO_TEXT.format(name), f"messages[{number}].{name}")
    content = "\n\n".join(_texts(raw_message.get("content")))
    texts = [
        content,
        *(str(raw_message.get(member) or "") for member in ("reasoning_content", "refusal")),
    ]
    if "\0" in "".join(texts):
        raise _error(NUL, f"messages[{number}]")
    is_prompt = raw_message["role"] == "user"
    if is_prompt and not from_first_visible(content):
        raise _error(BLANK, f"messages[{number}]")
    return ScriptMessage(is_prompt, *texts)


def _texts(content: Any) -> Iterator[str]:
    if not isinstance(content, list):
        yield content or ""
        return
    for part in content:
        if part["type"] != "text":
            raise _error(IMAGES)
        yield part["text"]


def _filter_parameters(parameters: Mapping[str, object]) -> dict[str, object]:
    chat_parameters = dict(parameters)
    if isinstance(extra := chat_parameters.pop("extra", None), Mapping):
        further = {
            name: value for name, value in extra.items() if name not in REQUEST_ONLY_PARAMETERS
        }
        chat_parameters |= {"extra": further} if further else {}
    return chat_parameters


def _error(sentence: str, param: str = "store") -> ApiError:
    return ApiError(400, sentence, "unsupported_with_store", param)
