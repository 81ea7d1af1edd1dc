"""What an upstream is sent of a conversation, in an order that the strictest chat template takes.

Servers render messages by the template of the model. Gemma's raises an error unless user and
assistant alternate, Mistral's if a user follows the result of a tool, and Anthropic's API refuses
text that is blank and calls without results. A chat that holds a failed reply would get such an
error for each later prompt.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from chatapp.upstream.wire.dialects import ChatMessage

# Asks for the rest of a reply. A message of another role, or none after the assistant's, is refused
# by some servers and answered anew by others.
GO_ON = (
    "Continue where you stopped. Write only what follows, from the very next character on and in "
    "the same language; repeat nothing, and do not say that you continue."
)
# Stands for a reply without text, between what was asked in vain and the next prompt.
NO_ANSWER = "(There was no answer.)"
NO_RESULT = "(The tool returned nothing.)"


class History(NamedTuple):
    """Messages in order; the bytes of their texts are counted once."""

    messages: Sequence[ChatMessage]
    text_bytes: int  # of UTF-8

    @classmethod
    def of(cls, messages: Iterable[ChatMessage]) -> Self:
        """Put messages in an order that every upstream takes."""
        sent: list[ChatMessage] = []
        for message in messages:
            _append(sent, message)
        return cls(sent, sum(map(_bytes_within, sent)))

    def followed_by(self, more: "History") -> "History":
        """Join two histories, each of which is in order."""
        if not self.messages or not more.messages:
            return more if more.messages else self
        first, *others = more.messages
        ordered = [*self.messages]
        known = ordered[-1]
        _append(ordered, first)
        changed = ordered[len(self.messages) - 1 :]
        added = sum(map(_bytes_within, changed)) - _bytes_within(known)
        rest = more.text_bytes - _bytes_within(first)
        return History(ordered + others, self.text_bytes + added + rest)

    @property
    def has_system(self) -> bool:
        """Whether it begins with a system message."""
        return bool(self.messages) and self.messages[0]["role"] == "system"

    def without_system(self) -> "History":
        """Say what the system message says in the first prompt, for a model that takes none."""
        if not self.has_system:
            return self
        system, prompt, *others = self.messages
        told = f"{system['content']}\n\n{prompt['content']}"
        return History.of([{**prompt, "content": told}, *others])


NOTHING = History([], 0)


def _append(sent: list[ChatMessage], message: ChatMessage) -> None:
    """Add a message after those that are in order, as it is or as the order wants it."""
    role, content = message["role"], message.get("content")
    last = sent[-1] if sent else None
    before = last["role"] if last else ""
    if role == "tool":
        sent.append(message if _is_said(content) else {**message, "content": NO_RESULT})
    elif not _is_said(content) and not message.get("tool_calls"):
        return
    elif last and content == GO_ON and before != "assistant":
        return  # there is nothing to go on with: what was asked before is asked again
    elif last and role == "user" and last["content"] == GO_ON:
        sent[-1] = message  # the rest never came, and nobody waits for it any more
    elif last and role == before == "assistant":
        texts = [one for one in (last.get("content"), content) if _is_said(one)]
        sent[-1] = {**last, **message, "content": "\n\n".join(map(str, texts))}
    else:
        if role == "user" and before in ("user", "tool"):
            sent.append({"role": "assistant", "content": NO_ANSWER})
        sent.append(message)


def _is_said(content: object) -> bool:
    """Whether there is more to a content than white space."""
    return bool(content) and not (isinstance(content, str) and content.isspace())


def _bytes_within(value: Any) -> int:
    """The bytes of all texts in a message, whatever holds them: content, parts, calls, ids."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode(errors="replace"))
    if isinstance(value, dict | Mapping):  # the one is told at once
        return sum(map(_bytes_within, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_within, value))
    return 0
