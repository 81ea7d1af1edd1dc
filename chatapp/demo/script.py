"""Scripts: everything that the demo says in one reply, decided before the first byte is sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal, NamedTuple, Self

from chatapp.demo.tokens import split_tokens

# The beginnings of a reply's choices, so that they differ.
OPENINGS = ("", "To put it another way:\n\n", "In a third version:\n\n", "And in a fourth:\n\n")
MAX_CHOICES = len(OPENINGS)


class Ending(Enum):
    """The endings of a reply. The first five are values of `finish_reason`."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    FUNCTION_CALL = "function_call"
    ERROR = "error frame after 200"
    CUT_OFF = "the body ends with neither finish chunk nor [DONE]"
    STALL = "silence until the client leaves"

    @property
    def finish_reason(self) -> str | None:
        breaks_off = self in (Ending.ERROR, Ending.CUT_OFF, Ending.STALL)
        return None if breaks_off else self.value


class TextDelta(NamedTuple):
    region: Literal["reasoning", "answer", "refusal"]
    text: str


class CallDelta(NamedTuple):
    """A piece of the tool call at `place`: first its name, then its arguments."""

    place: int
    name: str = ""
    arguments: str = ""


Delta = TextDelta | CallDelta


class Call(NamedTuple):
    """A tool call. `arguments` is usually, but not always, valid JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Script:
    """A reply to send. `unsaid` is the part of the answer that is never sent."""

    answer: str = ""
    reasoning: str = ""
    ending: Ending = Ending.STOP
    unsaid: str = ""
    refusal: str = ""
    calls: tuple[Call, ...] = ()
    beside: Mapping[str, object] = field(default_factory=dict)  # images, annotations
    is_moderated: bool = False
    is_sent_whole: bool = False  # as JSON, even if a stream was requested
    thinks_in_tags: bool = False

    @property
    def whole_answer(self) -> str:
        return self.answer + self.unsaid

    def choices(self, number: int) -> list[Self]:
        """Return `number` versions of the reply, each answer with a different opening."""
        return [
            replace(self, answer=opening + self.answer) if self.answer else self
            for opening in OPENINGS[:number]
        ]

    def limit_answer(self, tokens: int | None) -> Self:
        """Return the reply with at most this many tokens of answer."""
        answer = list(split_tokens(self.answer))
        if tokens is None or len(answer) <= tokens:
            return self
        sent_tokens, left = answer[:tokens], [*answer[tokens:], self.unsaid]
        return replace(
            self, answer="".join(sent_tokens), unsaid="".join(left), ending=Ending.LENGTH
        )

    @property
    def deltas(self) -> Iterator[Delta]:
        """Yield one-token deltas: the reasoning, the answer, the refusal, then the calls."""
        yield from self._reasoning_deltas()
        yield from (TextDelta("answer", token) for token in split_tokens(self.answer))
        yield from (TextDelta("refusal", token) for token in split_tokens(self.refusal))
        for index, call in enumerate(self.calls):
            yield CallDelta(index, name=call.name)
            for token in split_tokens(call.arguments):
                yield CallDelta(index, arguments=token)

    def _reasoning_deltas(self) -> Iterator[Delta]:
        tokens = split_tokens(self.reasoning)
        if self.thinks_in_tags and tokens:
            # split inside the tags, as models do
            tagged = ["<th", "ink>\n", *tokens, "\n</", "think>\n\n"]
            yield from (TextDelta("answer", token) for token in tagged)
        else:
            yield from (TextDelta("reasoning", token) for token in tokens)
