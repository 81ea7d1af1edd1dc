"""Recognise errors that refuse a request parameter, in any gateway's words.

`tests/upstream/wire/test_parameter_refusals.py` has the messages that the patterns were made for.
Only fields that were sent are looked for, so an error that advises another field names none.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError

_KINDS = frozenset(
    {ErrorKind.BAD_REQUEST, ErrorKind.NOT_FOUND, ErrorKind.SERVER_ERROR, ErrorKind.STREAM_ERROR}
)
_NOT_ABOUT_PARAMETERS = (402, 408, 413)  # statuses
# A parameter that doesn't exist there.
_UNKNOWN = re.compile(
    r"unsupported[ _]param|unknown[ _](parameter|name|field|argument)|cannot find field"
    r"|unrecognized (request )?(argument|parameter|field|key)|extra_forbidden"
    r"|extra inputs? (are|is) not permitted|extraneous key|unexpected keyword"
    r"|additional properties are not allowed|property \S+ is unsupported"
    r"|(does not|doesn't|do not) support (the )?param|(param\w*|argument) not supported",
    re.IGNORECASE,
)
# Leaving out a parameter that has one allowed value sends just that.
_ONE_VALUE = re.compile(
    r"only (the default\b|\S+ is (allowed|supported|permitted)\b)", re.IGNORECASE
)
_VALUE = re.compile(
    r"(unsupported|invalid|illegal|bad) value|\bvalue\b.{0,40}not (one of|supported|allowed|valid)"
    r"|(must|should|may only|can only|has to|have to|needs to) (be|match)|\brange\b|\bof type\b"
    r"|type\W+is (un|not )\w+|(greater|less|larger|more|fewer) than|less or equal|[<>]=? ?\d"
    r"|at (least|most)|too (large|small|high|low|long|many|big)|exceed|\b(max|min)imum\b|\bone of\b"
    r"|literal_error|supported values|specified in the request are not valid|非法|不合法"
    r"|parameter is illegal|\binvalid [\w' .`\"]{0,40}(value|param|temperature|top|max|reasoning)"
    r"|\b(response_format|reasoning)\.(type|json_schema|schema)\b",
    re.IGNORECASE,
)
_NOT_SUPPORTED = re.compile(
    r"(is|are|was|were)(n't| not) (currently )?(supported|enabled|allowed|available|accepted"
    r"|permitted|implemented)|not supported|unsupported|is deprecated"
    r"|(does not|doesn't|do not|cannot|can't) (both |be )?"
    r"(support|accept|take|handle|allow|specified|set|used|combined|be\b)",
    re.IGNORECASE,
)
_CONFLICT = re.compile(
    r"\b(both|together|combined|simultaneously|mutually exclusive|at the same time|only one)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(when|while|unless)\b|\bwith (tools?|stream|function)", re.IGNORECASE)
_ADVICE = re.compile(
    r"\b(use|did you mean|to drop|if you want|try|learn more|please|for more)\b", re.IGNORECASE
)
_SOME_PARAMETER = re.compile(r"(handle|support)s? (all )?the requested parameters", re.IGNORECASE)
# What gateways call a field after they have translated it for a provider.
_OUTPUT = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens")
_REASONING = ("reasoning_effort", "reasoning.effort", "reasoning", "thinking", "think", "effort")
_ALIASES = {
    "max_tokens": _OUTPUT,
    "max_completion_tokens": _OUTPUT,
    "reasoning_effort": _REASONING,
    "reasoning": _REASONING,
    "stop": ("stop_sequences", "stop_sequence"),
    "seed": ("random_seed",),
    "random_seed": ("seed",),
    "top_p": ("#/p",),
    "response_format": ("json_schema", "json_output", "json_mode", "structured_outputs"),
    "web_search_options": ("web_search", "web_search_tool"),
}
# Names of one word that mean nothing else in an error.
_DISTINCT = frozenset({"temperature", "seed", "logprobs", "reasoning", "thinking", "think", "#/p"})


@dataclass(frozen=True, slots=True)
class ParameterRefusal:
    """The fields of a request that an upstream refused."""

    fields: tuple[str, ...]
    of_value: bool  # or of a combination; the model may take the parameter otherwise


def find_refusal(error: UpstreamError, sent: Collection[str]) -> ParameterRefusal | None:
    """Return what was refused of the fields that were sent, or None."""
    status = error.status or 0
    if not sent or error.kind not in _KINDS or status in _NOT_ABOUT_PARAMETERS or status > 500:
        return None
    message = error.message
    if _SOME_PARAMETER.search(message):
        return ParameterRefusal(tuple(sent), of_value=True)
    names = _find_named_fields(error, sent)
    if not names:
        return None
    is_value = _is_of_value(error)
    if is_value is None:
        return None
    if _CONFLICT.search(message):
        return ParameterRefusal(names[-1:], of_value=True)
    if _CONDITION.search(message):
        return ParameterRefusal(names[:1], of_value=True)
    return ParameterRefusal(names, is_value)


def _is_of_value(error: UpstreamError) -> bool | None:
    """Tell a refusal of a value from one of a parameter; None if it is neither."""
    text = f"{error.code} {error.message}"
    if _ONE_VALUE.search(text):
        return False
    if re.search(r"\bresponse_format\.\w", f"{error.param} {text}"):
        return True
    if _UNKNOWN.search(text):
        return False
    if _VALUE.search(text):
        return True
    return False if _NOT_SUPPORTED.search(text) else None


def _find_named_fields(error: UpstreamError, sent: Collection[str]) -> tuple[str, ...]:
    """Return the fields that the error names, in the order in which it does."""
    if error.param:
        quoted = f"'{error.param}'"
        names = tuple(field for field in sent if _position(field, sent, quoted) >= 0)
        if names:
            return names
    advice = _ADVICE.search(error.message)
    refusing = error.message[: advice.start()] if advice else error.message
    positions = ((_position(field, sent, refusing), field) for field in sent)
    return tuple(field for _, field in sorted(entry for entry in positions if entry[0] >= 0))


def _position(field: str, sent: Collection[str], text: str) -> int:
    aliases = (alias for alias in _ALIASES.get(field, ()) if alias not in sent)
    match = _pattern(field, *aliases).search(text)
    return match.start() if match else -1


@lru_cache(maxsize=256)
def _pattern(*names: str) -> re.Pattern[str]:
    spellings = (spelling for name in dict.fromkeys(names) for spelling in _spellings(name))
    return re.compile("|".join(spellings), re.IGNORECASE | re.ASCII)


def _spellings(name: str) -> Iterator[str]:
    """Yield patterns for a name: as it is, in camel case, and with spaces."""
    pattern = r"[_ ]?".join(map(re.escape, name.split("_")))
    if "_" in name or "." in name or name in _DISTINCT:
        # Not within the id of a model, such as grok-4-reasoning.
        yield rf"(?<![\w-]){pattern}(?![\w-])"
        return
    yield rf"[\"'`“]{pattern}[\"'`”.\[]"
    yield rf"\b(param\w*|argument\w*|field|property|name|key|supplied)\W{{1,4}}{pattern}\b"
    yield rf"(?<![\w-])body(\.| -> ){pattern}\b"
    yield rf": {pattern}\.?$|^{pattern}:|(?<![\w-]){pattern} ?(param|field|argument|参数)"
