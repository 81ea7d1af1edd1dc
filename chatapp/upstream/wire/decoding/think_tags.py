"""Split reasoning in think tags from the answer: content deltas in, typed deltas out.

Handles `<think>…</think>` at the start of a reply, split between deltas anywhere. Gemini's tags are
`<thought>`, Magistral's `[THINK]`, Seed's `<seed:think>`, Kimi's `◁think▷`. `harmony` handles the
channels of gpt-oss.

Tags count only at the start of the reply, after optional white space; elsewhere they are text,
because people also ask about such tags. White space right after a tag is dropped.

Some upstreams swallow the opening tag. So if the first tag in an answer is a closing one, all text
before it was reasoning (`AnswerWasReasoning`); until then it is shown as the answer, because it
looks like one. A tag in backticks does not count. After any tag, the answer is no longer searched.

If reasoning has its own field, some upstreams leave its tags in the content: a closing tag or an
empty pair at the start of the following content is dropped. Others send it twice: see `choices`.
"""

import re
from dataclasses import dataclass

from chatapp.upstream.wire.decoding import harmony
from chatapp.upstream.wire.decoding.text_calls import TextCall
from chatapp.upstream.wire.events import AnswerDelta, AnswerWasReasoning, ReasoningDelta

ContentEvent = ReasoningDelta | AnswerDelta | AnswerWasReasoning | TextCall

_CLOSING_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "◁think▷": "◁/think▷",
    "<reasoning>": "</reasoning>",
}
_ALL_TAGS = (*_CLOSING_TAGS, *_CLOSING_TAGS.values())
_FIRST_TAG = re.compile("|".join(map(re.escape, _ALL_TAGS)))
_OPENS = frozenset(tag[0] for tag in _ALL_TAGS)
# Tags without meaning after reasoning in its own field, mapped to the last tag.
_LEFTOVERS = {
    tags: closing
    for opening, closing in _CLOSING_TAGS.items()
    for tags in (closing, f"{opening}{closing}")
}
_MAX_SPACE = 64  # look for an opening tag only after at most this much white space


@dataclass(slots=True)
class Splitter:
    """Splits the content of one choice, holding back only text that may be part of a tag."""

    choice: int = 0
    _region: type[ReasoningDelta] | type[AnswerDelta] | None = None  # None: not known yet
    _held_text: str = ""
    _closing_tag: str = ""  # while inside the reasoning
    _skip_space: bool = False  # right after a tag
    _may_be_reasoning: bool = True  # no tag yet, so a closing one may still come
    _last: str = ""  # the character before the held text
    _follows_field: bool = False  # reasoning came in its own field, and no content since
    _harmony: harmony.HarmonySplitter | None = None

    @property
    def is_in_tags(self) -> bool:
        """Whether the text so far ends within the tags of reasoning."""
        return self._region is ReasoningDelta

    def may_close_with(self, text: str) -> bool:
        """Return whether the text is the closing tag, or the beginning of it."""
        start = text.lstrip()
        tag = self._closing_tag
        return bool(start) and (start.startswith(tag) or tag.startswith(start))

    def begins_tags(self, text: str) -> bool:
        """Whether content that nothing came before opens the tags of reasoning."""
        return self._region is None and text.lstrip().startswith(tuple(_CLOSING_TAGS))

    def receive_text(self, text: str) -> list[ContentEvent]:
        """Return the events of a non-empty content delta, in order."""
        if self._region is AnswerDelta and not self._skip_space:  # the hot path
            if not self._may_be_reasoning:
                return [AnswerDelta(text, choice=self.choice)]
            if not self._held_text and _OPENS.isdisjoint(text):
                self._last = text[-1]
                return [AnswerDelta(text, choice=self.choice)]
        if self._harmony:
            return [*self._harmony.receive_text(text)]
        events: list[ContentEvent] = []
        text = self._held_text + text
        self._held_text = ""
        if self._region is None:
            text = self._read_after_field(text) if self._follows_field else self._read_opening(text)
        if self._harmony:
            return [*self._harmony.receive_text(text)]
        if self._region is ReasoningDelta:
            text = self._read_reasoning(text, events)
        if self._region is AnswerDelta and self._may_be_reasoning:
            text = self._find_first_tag(text, events)
        if self._region is AnswerDelta and (text := self._trim_space(text)):
            events.append(AnswerDelta(text, choice=self.choice))
        return events

    def close(self) -> list[ContentEvent]:
        """Return the text held back as a possible tag. Text after this is answer."""
        if self._harmony:
            return [*self._harmony.close()]
        held_text, region = self._held_text, self._region or AnswerDelta
        self._held_text, self._skip_space, self._region = "", False, AnswerDelta
        self._may_be_reasoning = False
        return [region(held_text, choice=self.choice)] if held_text else []

    def flush_for_reasoning_field(self) -> list[ContentEvent]:
        """Return what was held back, because reasoning came in its own field."""
        events: list[ContentEvent] = []
        if self._region is ReasoningDelta:
            events = self.close()
        elif self._region or self._held_text.strip():
            return self.close()
        self._held_text, self._region = "", None
        self._follows_field, self._may_be_reasoning = True, False
        return events

    def _read_after_field(self, text: str) -> str:
        """Drop leftover tags of the reasoning; hold back text that may be the start of them."""
        start = text.lstrip()
        compact = "".join(start.split())
        for tags, closing_tag in _LEFTOVERS.items():
            if compact.startswith(tags):
                self._region, self._skip_space = AnswerDelta, True
                return start.partition(closing_tag)[2]
        if any(tags.startswith(compact) for tags in _LEFTOVERS) and len(text) < _MAX_SPACE:
            self._held_text = text
        else:
            self._region = AnswerDelta
        return text

    def _read_opening(self, text: str) -> str:
        """Decide what the reply begins with; return the text after a tag, hold it if undecided."""
        start = text.lstrip()
        if len(text) - len(start) > _MAX_SPACE:
            self._region = AnswerDelta
            return text
        if start.startswith(harmony.STARTS):
            self._harmony = harmony.HarmonySplitter(self.choice)
            return start
        for tag, closing_tag in _CLOSING_TAGS.items():
            if start.startswith(tag):
                self._region = ReasoningDelta
                self._closing_tag = closing_tag
                self._skip_space = True
                self._may_be_reasoning = False
                return start.removeprefix(tag)
        if any(tag.startswith(start) for tag in (*_CLOSING_TAGS, *harmony.STARTS)):
            self._held_text = text
        else:
            self._region = AnswerDelta
        return text

    def _read_reasoning(self, text: str, events: list[ContentEvent]) -> str:
        """Add the reasoning up to the closing tag and return what follows the tag."""
        reasoning, tag, remainder = text.partition(self._closing_tag)
        if not tag:
            safe_length = len(text) - _overlap(text, self._closing_tag)
            reasoning, self._held_text = text[:safe_length], text[safe_length:]
        if reasoning := self._trim_space(reasoning):
            events.append(ReasoningDelta(reasoning, choice=self.choice))
        if tag:
            self._region = AnswerDelta
            self._skip_space = True
        return remainder

    def _find_first_tag(self, text: str, events: list[ContentEvent]) -> str:
        """Look for the first tag in the answer; return the text that counts as answer for now."""
        if not (match := _FIRST_TAG.search(text)):
            safe_length = len(text) - max(_overlap(text, tag) for tag in _ALL_TAGS)
            text, self._held_text = text[:safe_length], text[safe_length:]
            self._last = text[-1:] or self._last
            return text
        self._may_be_reasoning = False
        before, tag = text[: match.start()], match[0]
        if tag in _CLOSING_TAGS or (before[-1:] or self._last) == "`":
            return text
        if before:
            events.append(AnswerDelta(before, choice=self.choice))
        events.append(AnswerWasReasoning(choice=self.choice))
        self._skip_space = True
        return text[match.end() :]

    def _trim_space(self, text: str) -> str:
        if self._skip_space and (text := text.lstrip()):
            self._skip_space = False
        return text


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of `tag`."""
    at = text.find(tag[0], max(0, len(text) - len(tag) + 1))
    while at >= 0 and not tag.startswith(text[at:]):
        at = text.find(tag[0], at + 1)
    return len(text) - at if at >= 0 else 0
