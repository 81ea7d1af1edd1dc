"""Reasoning inside the content: `<think>…</think>` at the start of a reply, split anywhere.

Content deltas in, reasoning and answer deltas out. Only tags that open the reply count, after
white space at most; anywhere else they are text, since people also ask about such tags. White
space right after a tag is dropped.
"""

from dataclasses import dataclass

from chatapp.upstream.events import AnswerDelta, ReasoningDelta

_CLOSING_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}
_MAX_SPACE = 64  # a reply that begins with more white space than this begins with no tag


@dataclass(slots=True)
class Splitter:
    """Splits the content of one reply, holding back only what may be part of a tag."""

    _region: type[ReasoningDelta] | type[AnswerDelta] | None = None  # None: not known yet
    _held: str = ""
    _closing_tag: str = ""  # while the reasoning runs
    _skip_space: bool = False  # right after a tag

    def receive_text(self, text: str) -> list[ReasoningDelta | AnswerDelta]:
        """Return the parts of a delta that is not empty, in order; at most one for each region."""
        if self._region is AnswerDelta and not self._skip_space:  # by far the most frequent
            return [AnswerDelta(text)]
        deltas: list[ReasoningDelta | AnswerDelta] = []
        text = self._held + text
        self._held = ""
        if self._region is None:
            text = self._open(text)
        if self._region is ReasoningDelta:
            text = self._reason(text, deltas)
        if self._region is AnswerDelta and (text := self._trimmed(text)):
            deltas.append(AnswerDelta(text))
        return deltas

    def close(self) -> list[ReasoningDelta | AnswerDelta]:
        """Return what was held back: no tag will come of it. What follows is answer."""
        held, region = self._held, self._region or AnswerDelta
        self._held, self._skip_space, self._region = "", False, AnswerDelta
        return [region(held)] if held else []

    def _open(self, text: str) -> str:
        """Decide how the reply begins and return what follows a tag; hold it while undecided."""
        start = text.lstrip()
        if len(text) - len(start) > _MAX_SPACE:
            self._region = AnswerDelta
            return text
        for tag, closing_tag in _CLOSING_TAGS.items():
            if start.startswith(tag):
                self._region = ReasoningDelta
                self._closing_tag = closing_tag
                self._skip_space = True
                return start.removeprefix(tag)
        if any(tag.startswith(start) for tag in _CLOSING_TAGS):
            self._held = text
        else:
            self._region = AnswerDelta
        return text

    def _reason(self, text: str, deltas: list[ReasoningDelta | AnswerDelta]) -> str:
        """Add the reasoning up to the closing tag and return what follows the tag."""
        reasoning, tag, rest = text.partition(self._closing_tag)
        if not tag:
            kept = len(text) - _overlap(text, self._closing_tag)
            reasoning, self._held = text[:kept], text[kept:]
        if reasoning := self._trimmed(reasoning):
            deltas.append(ReasoningDelta(reasoning))
        if tag:
            self._region = AnswerDelta
            self._skip_space = True
        return rest

    def _trimmed(self, text: str) -> str:
        if self._skip_space and (text := text.lstrip()):
            self._skip_space = False
        return text


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of `tag`."""
    return next(n for n in range(min(len(text), len(tag) - 1), -1, -1) if text.endswith(tag[:n]))
