"""Tool calls: which of the offered tools a question calls, and how the results are answered."""

import json
import re
from collections.abc import Sequence

from chatapp.demo.requests import Function
from chatapp.demo.script import Call, Ending, Script

ASKS_FOR_THE_TIME = re.compile(
    r"(?:what|which|tell|show|current|today)\b(?:\W+\w+){0,3}?\W+(?:time|date|day|clock)\b.{0,40}",
    re.IGNORECASE,
)
TIME_ZONE = re.compile(r"\b[A-Z]\w+/[A-Z]\w+(?:/\w+)?\b")
TELLS_TIME = re.compile(r"(?<![a-z])(?:time|date|clock)(?![a-z])", re.IGNORECASE)
CALL = re.compile(
    r"\s*(?:please )?(?:call|use)(?: the)? (tool )?`?([\w-]+)`?\.?\s*(\{.*)?", re.IGNORECASE
)
BROKEN = re.compile(r"(?:show (?:me )?)?(?:invalid|broken|bad) arguments", re.IGNORECASE)
FUNCTION_CALL = re.compile(
    r"(?:show (?:me )?)?(?:an? |the )?(?:deprecated )?function[ _]call", re.IGNORECASE
)
TOOLS = re.compile(r"(?:show (?:me )?|which )?(?:the )?tools(?: are there)?", re.IGNORECASE)
ENDLESS = re.compile(
    r"(?:call(?:s|ing)? )?(?:without end|endless(?:ly)?)(?: calls)?", re.IGNORECASE
)

NO_TOOLS = "No tools were offered to me with this question, so there is nothing I can call."
NO_CLOCK = "I have no clock, and none of the tools I was offered tells the time."


def script_with_tools(question: str, tools: Sequence[Function]) -> Script | None:
    """Return the calls that a question asks for, or why they are impossible; None for no calls."""
    plain = question.strip().rstrip(".!?")
    if TOOLS.fullmatch(plain):
        return Script(list_of_tools(tools))
    if calls := parse_calls(question, tools):
        return calls
    tool = time_tool(tools)
    is_broken, is_deprecated = BROKEN.fullmatch(plain), FUNCTION_CALL.fullmatch(plain)
    if is_broken or is_deprecated or calls_endlessly(question):
        if not tools:
            return Script(NO_TOOLS)
        tool = tool or tools[0]
        arguments = '{"timezone": "Europe/Vien' if is_broken else "{}"
        ending = Ending.FUNCTION_CALL if is_deprecated else Ending.TOOL_CALLS
        return build_call_script(Call(tool.name, arguments), ending=ending)
    if not ASKS_FOR_THE_TIME.fullmatch(plain):
        return None
    return (
        build_call_script(Call(tool.name, time_arguments(question, tool)))
        if tool
        else Script(NO_CLOCK)
    )


def calls_endlessly(question: str) -> bool:
    """Whether the question asks for tool calls that never end."""
    return ENDLESS.fullmatch(question.strip().rstrip(".!?")) is not None


def parse_calls(question: str, tools: Sequence[Function]) -> Script | None:
    """Return the calls in a question that consists of lines such as `call NAME {"a": 1}`.

    Without arguments, a line needs the name of an offered tool or the word "tool", to tell it from
    other questions.
    """
    line_matches = [CALL.fullmatch(line) for line in question.splitlines() if line.strip()]
    tool_names = {tool.name for tool in tools}
    matches = [
        match
        for match in line_matches
        if match and (match[1] or match[3] or match[2] in tool_names)
    ]
    if not matches or len(matches) < len(line_matches):
        return None
    calls = [Call(match[2], (match[3] or "{}").strip()) for match in matches]
    unknown = [call.name for call in calls if call.name not in tool_names]
    if unknown:
        return Script(f"I was not offered a tool named `{unknown[0]}`. {list_of_tools(tools)}")
    return build_call_script(*calls)


def build_call_script(*calls: Call, ending: Ending = Ending.TOOL_CALLS) -> Script:
    return Script(calls=calls, ending=ending)


def time_tool(tools: Sequence[Function]) -> Function | None:
    """Return the tool that tells the time: matched by name first, then by description."""
    by_name = (tool for tool in tools if TELLS_TIME.search(tool.name))
    by_description = (tool for tool in tools if TELLS_TIME.search(tool.description or ""))
    return next(by_name, None) or next(by_description, None)


def time_arguments(question: str, tool: Function) -> str:
    zone = TIME_ZONE.search(question)
    takes_zone = "timezone" in ((tool.parameters or {}).get("properties") or {})
    return json.dumps({"timezone": zone[0]} if zone and takes_zone else {})


def list_of_tools(tools: Sequence[Function]) -> str:
    if not tools:
        return NO_TOOLS
    names = "\n".join(f"- `call {tool.name} {{}}`" for tool in tools)
    return f"Send one of these, with arguments as JSON, and I'll call the tool.\n\n{names}"


def answer_from(results: Sequence[str]) -> str:
    """Return the answer after the tools have run, with each result quoted."""
    quoted = ("\n".join(f"> {line}" for line in result.splitlines()) for result in results)
    quotes = "\n\n".join(quote or "> (nothing)" for quote in quoted)
    opening = "The tool answered:" if len(results) == 1 else "The tools answered:"
    return f"{opening}\n\n{quotes}"
