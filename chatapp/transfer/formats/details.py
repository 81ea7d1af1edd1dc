"""The `<details>` blocks in which Open WebUI stores reasoning and tool calls inside a reply's text.

Open WebUI writes them itself, from escaped text, so that a pattern is enough to find them. Other
blocks stay as they are.
"""

import html
import json
import re
from collections.abc import Iterator

from chatapp.transfer.formats.parts import as_json
from chatapp.transfer.tree import Part, Reasoning, Text, ToolCall, ToolResult

_ATTRIBUTE = r"""\s+([\w-]+)(?:="([^"]*)"|='([^']*)')?"""
_OPENING = re.compile(rf"(?:^|(?<=</details>))<details((?:{_ATTRIBUTE})*+)\s*+>", re.MULTILINE)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TYPES = ("reasoning", "tool_calls", "code_interpreter")
_CLOSING = "</details>"
_SUMMARY = re.compile(r"\A\s*<summary>.*?</summary>", re.DOTALL)
_QUOTED = re.compile(r"^> ?", re.MULTILINE)


def split_parts(content: str) -> Iterator[tuple[Part, float | None]]:
    """Yield the parts of a reply's text, and how many seconds a piece of reasoning took."""
    position = 0
    for opening in _OPENING.finditer(content):
        attributes = {
            name: html.unescape(double or single)
            for name, double, single in _ATTRIBUTES.findall(opening.group(1))
        }
        if opening.start() < position or attributes.get("type") not in _TYPES:
            continue
        end = content.find(_CLOSING, opening.end())
        if end < 0:
            break
        yield Text(content[position : opening.start()].strip("\n")), None
        body = _SUMMARY.sub("", content[opening.end() : end], count=1).strip("\n")
        yield from _block(attributes, body)
        position = end + len(_CLOSING)
    remainder = content[position:]
    yield Text(remainder.strip("\n") if position else remainder), None


def _block(attributes: dict[str, str], body: str) -> Iterator[tuple[Part, float | None]]:
    match attributes.get("type"):
        case "reasoning":
            reasoning = _QUOTED.sub("", html.unescape(body))
            yield Reasoning(reasoning), _seconds(attributes.get("duration", ""))
        case "tool_calls":
            id, name = attributes.get("id", "")[:100], attributes.get("name", "")[:100]
            yield ToolCall(name, _unpack_text(attributes.get("arguments", "")), id), None
            if attributes.get("done") != "false":
                result = attributes.get("result") or html.unescape(body)
                yield ToolResult(_unpack_text(result), name, id), None
        case _:
            yield ToolCall("code_interpreter", html.unescape(body)), None
            if "output" in attributes:
                yield ToolResult(_output(attributes["output"]), "code_interpreter"), None


def _seconds(duration: str) -> float | None:
    return float(duration) if re.fullmatch(r"\d{1,6}(\.\d{1,9})?", duration) else None


def _unpack_text(value: str) -> str:
    """Return a text that was written as JSON; other JSON as it is."""
    try:
        unpacked = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return unpacked if isinstance(unpacked, str) else value


def _output(value: str) -> str:
    try:
        outputs = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if not isinstance(outputs, dict):
        return as_json(outputs)
    return "\n\n".join(filter(None, (as_json(output) for output in outputs.values())))
