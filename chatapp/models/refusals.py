"""Exceptions for requests of a person that are refused."""

from datetime import datetime
from typing import Self


class Refused(Exception):
    """Refuses a request. The message is a sentence for the person: what is wrong, what to do."""


class OverLimit(Refused):
    """A limit leaves too little for a reply.

    `resets_at` is when a new period of the limit begins, if one does. With `is_brief`, waiting for
    a moment may help.
    """

    def __init__(
        self, sentence: str, resets_at: datetime | None = None, *, is_brief: bool = False
    ) -> None:
        super().__init__(sentence)
        self.resets_at = resets_at
        self.is_brief = is_brief


SHORTEN = "That may be too little for this prompt: shorten it."


class TooLittleForPrompt(OverLimit):
    """A limit leaves too little for this prompt, but enough for a shorter one.

    The sentence has three parts: what is left, what the prompt needs and how to shorten it, and
    whom to ask for more.
    """

    def __init__(self, left: str, ask: str, resets_at: datetime | None, need: str = "") -> None:
        super().__init__(f"{left} {need or SHORTEN} {ask}", resets_at)
        self._left, self._ask = left, ask

    def with_need(self, need: str) -> Self:
        """Return the refusal with what the prompt needs and how to shorten it."""
        return type(self)(self._left, self._ask, self.resets_at, need)


class ChatNotFound(Refused):
    """The conversation was deleted, or belongs to somebody else."""

    def __init__(self) -> None:
        super().__init__("This chat no longer exists. Start a new chat.")


class StillStreaming(Refused):
    """A reply is being written in the conversation, in any process."""

    def __init__(self) -> None:
        super().__init__("A reply is still being written here. Stop it, or wait for it to finish.")
