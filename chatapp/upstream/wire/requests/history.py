"""Put a conversation's messages in an order that even the strictest chat template accepts.

Servers render messages with the model's chat template. Gemma's raises an error unless user and
assistant alternate, Mistral's if a user message follows a tool result, and Anthropic's API rejects
blank text and calls without results. Without this, a chat with a failed reply would get such an
error on every later prompt.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from chatapp.upstream.wire.errors.upstream_error import REASONING_MEMBER
from chatapp.upstream.wire.requests.content import (
    ImagePart,
    Part,
    has_content,
    images_in,
    join_contents,
    without_optional_images,
)
from chatapp.upstream.wire.requests.dialects import ChatMessage

# Asks for the rest of a reply. Sent as a user message, because with another role, or with the
# assistant's message last, some servers return an error and others start a new answer.
CONTINUE_PROMPT = (
    "Continue where you stopped. Write only what follows, from the very next character on and in "
    "the same language; repeat nothing, and do not say that you continue."
)
# Replaces a reply without text, between an unanswered prompt and the next one.
NO_ANSWER = "(There was no answer.)"
NO_RESULT = "(The tool returned nothing.)"


class History(NamedTuple):
    """Messages in order, the total size of their texts, counted once, and their images."""

    messages: Sequence[ChatMessage]
    text_bytes: int  # of UTF-8
    images: Sequence[ImagePart] = ()

    @classmethod
    def of(cls, messages: Iterable[ChatMessage]) -> Self:
        """Put messages in an order that every upstream accepts."""
        sent: list[ChatMessage] = []
        for message in messages:
            _append(sent, message)
        return cls(sent, sum(map(_bytes_within, sent)), images_in(sent))

    @classmethod
    def from_ordered(cls, messages: Sequence[ChatMessage], images: Sequence[ImagePart]) -> Self:
        """Take messages in the order in which a client sent them.

        `images` are those that the messages contain as `EncodedPart`.
        """
        return cls(messages, sum(map(_bytes_within, messages)), images)

    def concatenate(self, more: "History") -> "History":
        """Join two histories that are both in order."""
        if not self.messages or not more.messages:
            return more if more.messages else self
        first, *others = more.messages
        ordered = [*self.messages]
        last_message = ordered[-1]
        _append(ordered, first)
        changed = ordered[len(self.messages) - 1 :]
        added = sum(map(_bytes_within, changed)) - _bytes_within(last_message)
        remaining_bytes = more.text_bytes - _bytes_within(first)
        images = (*self.images, *more.images)
        return History(ordered + others, self.text_bytes + added + remaining_bytes, images)

    def with_files(self, parts: Sequence[Part]) -> "History":
        """Put parts before the content of the first user message.

        All turns begin with it, so the beginning of a request stays the same. OpenAI's API takes
        only text in a system message, and a user message of their own would be followed by another.
        """
        if not parts or not self.messages:
            return self
        first, *others = self.messages
        if first["role"] == "user":
            led = {**first, "content": join_contents([parts, first["content"]])}
        else:
            led, others = {"role": "user", "content": [*parts]}, [first, *others]
        added = _bytes_within(led) - (_bytes_within(first) if first["role"] == "user" else 0)
        images = (*images_in([{"content": parts}]), *self.images)
        return History([led, *others], self.text_bytes + added, images)

    @property
    def needs_images(self) -> bool:
        """Whether a model that takes no images can't be asked."""
        return any(not image.stand_in for image in self.images)

    def without_optional_images(self) -> "History":
        """Leave out images that have a text in their place, for models that take none."""
        if not any(image.stand_in for image in self.images):
            return self
        messages = without_optional_images(self.messages)
        return History(messages, sum(map(_bytes_within, messages)), images_in(messages))

    @property
    def has_system(self) -> bool:
        """Whether it begins with a system message."""
        return bool(self.messages) and self.messages[0]["role"] == "system"

    def without_system(self) -> "History":
        """Move the system message into the first prompt, for models that reject system messages."""
        if not self.has_system:
            return self
        system, prompt, *others = self.messages
        content = join_contents([system["content"], prompt["content"]])
        return History.of([{**prompt, "content": content}, *others])

    @property
    def has_bare_calls(self) -> bool:
        """Whether tool calls come without the reasoning before them: another model made them."""
        return any(map(_is_bare_call, self.messages))

    def with_thoughts_of_calls(self) -> "History":
        """Add empty reasoning to calls that have none, for models that refuse such calls."""
        if not self.has_bare_calls:
            return self
        filled = [
            {**message, REASONING_MEMBER: ""} if _is_bare_call(message) else message
            for message in self.messages
        ]
        return self._replace(messages=filled)


EMPTY_HISTORY = History([], 0)


def _is_bare_call(message: ChatMessage) -> bool:
    return bool(message.get("tool_calls")) and REASONING_MEMBER not in message


def _append(sent: list[ChatMessage], message: ChatMessage) -> None:
    """Append a message to those in order: unchanged, merged with the last one, or not at all."""
    role, content = message["role"], message.get("content")
    last = sent[-1] if sent else None
    before = last["role"] if last else ""
    if role == "tool":
        sent.append(message if has_content(content) else {**message, "content": NO_RESULT})
    elif not has_content(content) and not message.get("tool_calls"):
        return
    elif last and content == CONTINUE_PROMPT and before != "assistant":
        return  # there is no reply to continue: the earlier prompt is sent again
    elif last and role == "user" and last["content"] == CONTINUE_PROMPT:
        sent[-1] = message  # the continuation never came, and is not wanted any more
    elif last and role == before == "assistant":
        contents = [
            candidate for candidate in (last.get("content"), content) if has_content(candidate)
        ]
        sent[-1] = {**last, **message, "content": join_contents(contents)}
    else:
        if role == "user" and before in ("user", "tool"):
            sent.append({"role": "assistant", "content": NO_ANSWER})
        sent.append(message)


def _bytes_within(value: Any) -> int:
    """Return the UTF-8 bytes of all strings in a message: content, parts, calls, ids."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode(errors="replace"))
    if isinstance(value, dict | Mapping):  # the check for dict is fast
        return sum(map(_bytes_within, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_within, value))
    return 0
