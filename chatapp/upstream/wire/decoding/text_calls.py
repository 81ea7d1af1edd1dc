"""Find tool calls that a server passes on as the model's own markup, in the text of the answer.

    <|DSML|tool_calls><|DSML|invoke name="look_up"><|DSML|parameter name="q" string="true">Oslo…
    <tool_call>{"name": "look_up", "arguments": {"q": "Oslo"}}</tool_call>
    <tool_call><function=look_up><parameter=q>Oslo</parameter></function></tool_call>

The first is DeepSeek's, whose bars are full-width. Only markup that begins a line counts, and none
in a fence or in backticks: people also ask about it. `harmony` finds the calls of gpt-oss.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_MARKUP = 256 * 1024  # characters of one piece of markup

_DSML = "\uff5cDSML\uff5c"
_CLOSINGS = {
    f"<{_DSML}tool_calls>": f"</{_DSML}tool_calls>",
    f"<{_DSML}function_calls>": f"</{_DSML}function_calls>",
    "<tool_call>": "</tool_call>",
}
_LONGEST_OPENING = max(map(len, _CLOSINGS))
_INVOKE = re.compile(rf'<{_DSML}invoke name="([^"]*)">(.*?)</{_DSML}invoke>', re.DOTALL)
_DSML_PARAMETER = re.compile(
    rf'<{_DSML}parameter name="([^"]*)"(?: string="(true|false)")?>(.*?)</{_DSML}parameter>',
    re.DOTALL,
)
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call with its arguments as JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of markup with the calls that it makes; none if it can't be read."""

    text: str
    calls: tuple[TextCall, ...] = ()


@dataclass(slots=True)
class TextCalls:
    """Splits a text, holding back only markup, or what may be its beginning."""

    _line: str = ""  # the beginning of the current line
    _held_text: str = ""  # its end, not passed on yet
    _fence: str = ""  # that the line is in
    _markup: str = ""
    _closing: str = ""

    def passes(self, text: str) -> bool:
        """Return whether the text is sure to be no markup, and need not be received."""
        if self._closing or self._held_text or "<" in text or "\n" in text:
            return False
        if len(self._line) <= _LONGEST_OPENING:
            self._line += text[:_LONGEST_OPENING]
        return True

    def receive_text(self, text: str) -> Iterator[str | Markup]:
        """Yield the text outside of markup, and the markup, in order."""
        passed: list[str] = []
        while text:
            if self._closing:
                pieces, text = self._read_markup(text)
                yield from pieces
                continue
            piece, newline, text = text.partition("\n")
            passed.append(self._read_line(piece))
            if self._closing:
                text = newline + text
            elif newline:
                passed += [self._held_text, newline]
                self._end_line()
        if words := "".join(passed):
            yield words

    def close(self) -> Iterator[str | Markup]:
        """Yield what was held back. Markup may lack its end."""
        if self._closing:
            yield _parse_markup(self._markup)
        elif self._held_text:
            yield self._held_text
        self._markup = self._closing = self._held_text = ""

    def _read_line(self, piece: str) -> str:
        """Take the next piece of a line; return what can be passed on."""
        text, self._held_text = self._held_text + piece, ""
        line = self._line + piece if len(self._line) <= _LONGEST_OPENING else self._line
        self._line = line[: _LONGEST_OPENING + 1]
        start = line.lstrip()
        if self._fence or not (start.startswith("<") or not start) or len(text) < len(start):
            return text
        for opening, closing in _CLOSINGS.items():
            if start.startswith(opening):
                self._markup, self._closing = start, closing
                return text[: len(text) - len(start)]
        if start and any(opening.startswith(start) for opening in _CLOSINGS):
            self._held_text = start
            return text[: len(text) - len(start)]
        return text

    def _end_line(self) -> None:
        start = self._line.lstrip()
        if start.startswith(("```", "~~~")) and not self._fence:
            self._fence = start[:3]
        elif self._fence and start.startswith(self._fence):
            self._fence = ""
        self._line = self._held_text = ""

    def _read_markup(self, text: str) -> tuple[list[str | Markup], str]:
        """Take the next text of markup; return what has ended with it, and the rest."""
        self._markup += text
        end = self._markup.find(self._closing)
        if end < 0:
            if len(self._markup) <= MAX_MARKUP:
                return [], ""
            end = len(self._markup)
        end += len(self._closing)
        markup, remainder = self._markup[:end], self._markup[end:]
        self._markup = self._closing = ""
        return [_parse_markup(markup)], remainder


def _parse_markup(markup: str) -> Markup:
    try:
        return Markup(markup, tuple(_calls_in(markup)))
    except (ValueError, RecursionError):
        return Markup(markup)


def _calls_in(markup: str) -> Iterator[TextCall]:
    if not markup.startswith("<tool_call>"):
        for name, content in _INVOKE.findall(markup):
            parameters = _DSML_PARAMETER.findall(content)
            yield _call(name, {key: _value(text, kind == "true") for key, kind, text in parameters})
        return
    content = markup.removeprefix("<tool_call>").strip().removesuffix("</tool_call>").strip()
    if content.startswith("<function="):
        for name, inner in _FUNCTION.findall(content):
            yield _call(name, {key: _value(text) for key, text in _PARAMETER.findall(inner)})
        return
    call = json.loads(content)
    if not (isinstance(call, dict) and isinstance(call.get("name"), str)):
        raise ValueError(content)
    arguments = call.get("arguments", call.get("parameters", {}))
    yield TextCall(call["name"], arguments if isinstance(arguments, str) else _json(arguments))


def _call(name: str, arguments: dict[str, object]) -> TextCall:
    return TextCall(name, _json(arguments))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _value(text: str, is_text: bool = False) -> object:
    if is_text:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
