"""Takes apart the messages of a request that is to be saved as a chat.

What a chat can't hold is refused, so that nothing is left out of it silently.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from chatapp.api.responses import ApiError
from chatapp.models.conversations.api_chats import ApiChat, GivenMessage
from chatapp.models.library.presets import MAX_SYSTEM_PROMPT_LENGTH
from chatapp.text.visible import from_first_visible

SYSTEM = ("system", "developer")
HELD = frozenset({"role", "content", "reasoning_content", "refusal"})  # members of a message
OF_THE_REQUEST = frozenset({"user", "safety_identifier", "prompt_cache_key"})  # not of the chat

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


def chat_of(messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, object]) -> ApiChat:
    """Return the chat with these messages, which are valid. Raises `ApiError`."""
    if any(one["role"] == "tool" or one.get("tool_calls") for one in messages):
        raise _error(TOOLS)
    given = [(one["role"], _message(one, number)) for number, one in enumerate(messages)]
    count = next((n for n, (role, _) in enumerate(given) if role not in SYSTEM), len(given))
    system = "\n\n".join(one.content for _, one in given[:count])
    if len(system) > MAX_SYSTEM_PROMPT_LENGTH:
        raise _error(LONG)
    if "\0" in system or "\\u0000" in json.dumps(parameters):
        raise _error(NUL)
    turns = given[count:]
    if any(role in SYSTEM for role, _ in turns):
        raise _error(LATE_SYSTEM)
    if len(turns) % 2 == 0 or any(
        one.is_prompt == bool(number % 2) for number, (_, one) in enumerate(turns)
    ):
        raise _error(ORDER)
    return ApiChat(uuid4(), [one for _, one in turns], system, _kept(parameters))


def _message(given: Mapping[str, Any], number: int) -> GivenMessage:
    for name, value in given.items():
        if value and name not in HELD:
            raise _error(UNKNOWN.format(name[:50]), f"messages[{number}]")
    for name in ("reasoning_content", "refusal"):
        if not isinstance(given.get(name), str | None):
            raise _error(NO_TEXT.format(name), f"messages[{number}].{name}")
    content = "\n\n".join(_texts(given.get("content")))
    texts = [content, *(str(given.get(one) or "") for one in ("reasoning_content", "refusal"))]
    if "\0" in "".join(texts):
        raise _error(NUL, f"messages[{number}]")
    is_prompt = given["role"] == "user"
    if is_prompt and not from_first_visible(content):
        raise _error(BLANK, f"messages[{number}]")
    return GivenMessage(is_prompt, *texts)


def _texts(content: Any) -> Iterator[str]:
    if not isinstance(content, list):
        yield content or ""
        return
    for part in content:
        if part["type"] != "text":
            raise _error(IMAGES)
        yield part["text"]


def _kept(parameters: Mapping[str, object]) -> dict[str, object]:
    kept = dict(parameters)
    if isinstance(extra := kept.pop("extra", None), Mapping):
        further = {name: one for name, one in extra.items() if name not in OF_THE_REQUEST}
        kept |= {"extra": further} if further else {}
    return kept


def _error(sentence: str, param: str = "store") -> ApiError:
    return ApiError(400, sentence, "unsupported_with_store", param)
