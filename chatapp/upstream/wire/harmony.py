"""The channels of gpt-oss, where a server passes them on as they are (OpenAI's harmony format).

    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>

Only the channel `final` is the answer; the others are reasoning.
"""

import re
from dataclasses import dataclass

from chatapp.upstream.wire.events import AnswerDelta, ReasoningDelta

STARTS = ("<|channel|>", "<|start|>")

_MARK = re.compile(r"<\|(start|channel|message|end|return|call|constrain)\|>")
_LONGEST_MARK = len("<|constrain|>")


@dataclass(slots=True)
class HarmonySplitter:
    """Splits the content of one choice; the marks may be split anywhere."""

    choice: int = 0
    _held: str = ""  # what may be the beginning of a mark
    _header: str | None = ""  # of the message that begins; None within one, or after its end
    _region: type[ReasoningDelta] | type[AnswerDelta] | None = None  # None between messages

    def receive_text(self, text: str) -> list[ReasoningDelta | AnswerDelta]:
        """Return what a delta says, in order."""
        events: list[ReasoningDelta | AnswerDelta] = []
        text, self._held = self._held + text, ""
        place = 0
        for mark in _MARK.finditer(text):
            self._say(text[place : mark.start()], events)
            self._turn(mark[1])
            place = mark.end()
        rest = text[place:]
        begins = rest.rfind("<", max(0, len(rest) - _LONGEST_MARK))
        if begins >= 0 and _may_be_mark(rest[begins:]):
            rest, self._held = rest[:begins], rest[begins:]
        self._say(rest, events)
        return events

    def close(self) -> list[ReasoningDelta | AnswerDelta]:
        """Return what was held back: no mark will come of it."""
        events: list[ReasoningDelta | AnswerDelta] = []
        held, self._held = self._held, ""
        self._say(held, events)
        return events

    def _say(self, text: str, events: list[ReasoningDelta | AnswerDelta]) -> None:
        if not text:
            return
        if self._region:
            events.append(self._region(text, choice=self.choice))
        elif self._header is not None:
            self._header += text
        elif not text.isspace():  # outside of all messages; nothing may be lost
            events.append(AnswerDelta(text, choice=self.choice))

    def _turn(self, mark: str) -> None:
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
