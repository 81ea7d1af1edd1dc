"""The chat messages that an upstream is sent for a message without tool calls."""

from collections.abc import Sequence
from typing import Protocol

from chatapp.upstream.wire.requests.content import Part, text_part
from chatapp.upstream.wire.requests.history import CONTINUE_PROMPT


class PlainMessage(Protocol):
    """The part of a message that is sent if it has no tool calls."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def refusal(self) -> str: ...
    @property
    def is_continuation(self) -> bool: ...


def plain_chat_messages(
    message: PlainMessage, files: Sequence[Part] = ()
) -> list[dict[str, object]]:
    """Return the chat messages for a message's files and text.

    The files come first, so that prompts about the same files begin with the same bytes. A refusal
    counts as the model's text.
    """
    text = "\n\n".join(text for text in (message.content, message.refusal) if text.strip())
    content: str | list[Part] = CONTINUE_PROMPT if message.is_continuation else text
    if files:
        content = [*files, text_part(text)] if text else [*files]
    return [{"role": message.role, "content": content}] if content else []
