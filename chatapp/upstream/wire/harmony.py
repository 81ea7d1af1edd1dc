"""Split the channels of gpt-oss if a server passes them on unparsed (OpenAI's harmony format).

    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>

Only the channel `final` is the answer; the others are reasoning.
"""

import re
from dataclasses import dataclass

from chatapp.upstream.wire.events import AnswerDelta, ReasoningDelta

STARTS = ("<|channel|>", "<|start|>")

_MARK = re.compile(r"<\|(start|channel|message|end|return|call|constrain)\|>")
_MAX_MARK_LENGTH = len("<|constrain|>")


@dataclass(slots=True)
class HarmonySplitter:
    """Splits the content of one choice; marks may be split between deltas anywhere."""

    choice: int = 0
    _held: str = ""  # possibly the beginning of a mark
    _header: str | None = ""  # of the next message; None inside a message or after its end
    _region: type[ReasoningDelta] | type[AnswerDelta] | None = None  # None between messages

    def receive_text(self, text: str) -> list[ReasoningDelta | AnswerDelta]:
        """Return the events of a content delta, in order."""
        events: list[ReasoningDelta | AnswerDelta] = []
        text, self._held = self._held + text, ""
        position = 0
        for mark in _MARK.finditer(text):
            self._add_text(text[position : mark.start()], events)
            self._apply_mark(mark[1])
            position = mark.end()
        rest = text[position:]
        begins = rest.rfind("<", max(0, len(rest) - _MAX_MARK_LENGTH))
        if begins >= 0 and _may_be_mark(rest[begins:]):
            rest, self._held = rest[:begins], rest[begins:]
        self._add_text(rest, events)
        return events

    def close(self) -> list[ReasoningDelta | AnswerDelta]:
        """Return the text held back as a possible mark."""
        events: list[ReasoningDelta | AnswerDelta] = []
        held, self._held = self._held, ""
        self._add_text(held, events)
        return events

    def _add_text(self, text: str, events: list[ReasoningDelta | AnswerDelta]) -> None:
        if not text:
            return
        if self._region:
            events.append(self._region(text, choice=self.choice))
        elif self._header is not None:
            self._header += text
        elif not text.isspace():  # outside any message; nothing may be lost
            events.append(AnswerDelta(text, choice=self.choice))

    def _apply_mark(self, mark: str) -> None:
        match mark:
            case "start" | "channel":
                self._region, self._header = None, ""
            case "message":
                is_final = (self._header or "").strip().startswith("final")
                self._region = AnswerDelta if is_final else ReasoningDelta
                self._header = None
            case "end" | "return" | "call":
                self._region, self._header = None, None


def _may_be_mark(text: str) -> bool:
    return any(f"<|{name}|>".startswith(text) for name in _NAMES)


_NAMES = ("start", "channel", "message", "end", "return", "call", "constrain")
