"""Split the channels of gpt-oss if a server passes them on unparsed (OpenAI's harmony format).

    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>

Only the channel `final` is the answer; the others are reasoning, unless they are addressed to a
function: `<|channel|>commentary to=functions.look_up <|constrain|>json<|message|>{…}<|call|>`.
"""

import re
from dataclasses import dataclass, field

from chatapp.upstream.wire.decoding.text_calls import TextCall
from chatapp.upstream.wire.events import AnswerDelta, ReasoningDelta

STARTS = ("<|channel|>", "<|start|>")

HarmonyEvent = ReasoningDelta | AnswerDelta | TextCall

_RECIPIENT = re.compile(r"\bto=functions\.([\w.-]+)")
_MARK = re.compile(r"<\|(start|channel|message|end|return|call|constrain)\|>")
_MAX_MARK_LENGTH = len("<|constrain|>")


@dataclass(slots=True)
class HarmonySplitter:
    """Splits the content of one choice; marks may be split between deltas anywhere."""

    choice: int = 0
    _held_text: str = ""  # possibly the beginning of a mark
    _header: str | None = ""  # of the next message; None inside a message or after its end
    _region: type[ReasoningDelta] | type[AnswerDelta] | None = None  # None between messages
    _function: str = ""  # that the message calls
    _arguments: list[str] = field(default_factory=list)

    def receive_text(self, text: str) -> list[HarmonyEvent]:
        """Return the events of a content delta, in order."""
        events: list[HarmonyEvent] = []
        text, self._held_text = self._held_text + text, ""
        position = 0
        for mark in _MARK.finditer(text):
            self._add_text(text[position : mark.start()], events)
            self._apply_mark(mark[1], events)
            position = mark.end()
        remainder = text[position:]
        begins = remainder.rfind("<", max(0, len(remainder) - _MAX_MARK_LENGTH))
        if begins >= 0 and _may_be_mark(remainder[begins:]):
            remainder, self._held_text = remainder[:begins], remainder[begins:]
        self._add_text(remainder, events)
        return events

    def close(self) -> list[HarmonyEvent]:
        """Return the text held back as a possible mark, and a call whose end did not come."""
        events: list[HarmonyEvent] = []
        held_text, self._held_text = self._held_text, ""
        self._add_text(held_text, events)
        self._end_call(events)
        return events

    def _end_call(self, events: list[HarmonyEvent]) -> None:
        if self._function:
            events.append(TextCall(self._function, "".join(self._arguments)))
        self._function, self._arguments = "", []

    def _add_text(self, text: str, events: list[HarmonyEvent]) -> None:
        if not text:
            return
        if self._function:
            self._arguments.append(text)
        elif self._region:
            events.append(self._region(text, choice=self.choice))
        elif self._header is not None:
            self._header += text
        elif not text.isspace():  # outside any message; nothing may be lost
            events.append(AnswerDelta(text, choice=self.choice))

    def _apply_mark(self, mark: str, events: list[HarmonyEvent]) -> None:
        self._end_call(events)
        match mark:
            case "start" | "channel":
                self._region, self._header = None, ""
            case "message":
                header = self._header or ""
                is_final = header.strip().startswith("final")
                self._region = AnswerDelta if is_final else ReasoningDelta
                self._header = None
                if recipient := _RECIPIENT.search(header):
                    self._function = recipient[1]
            case "end" | "return" | "call":
                self._region, self._header = None, None


def _may_be_mark(text: str) -> bool:
    return any(f"<|{name}|>".startswith(text) for name in _NAMES)


_NAMES = ("start", "channel", "message", "end", "return", "call", "constrain")
