"""Recognise errors that say a request is too long for the model's context, in any gateway's words.

`tests/upstream/wire/test_context_refusals.py` has the messages that the patterns were made for.
Limits of tokens per minute, of an answer's length and of a file's size match none of them: leaving
out a part of the chat would not help.
"""

import re

MIN_WINDOW, MAX_WINDOW = 256, 10**9  # tokens; other numbers are not the size of a context
_N = r"(?P<window>\d[\d,_]*)"
_ANY = r"\d[\d,_.]*"
# Patterns with the size of the context.
_WITH_WINDOW = [
    rf"max(?:imum)? context length(?: is| of|:)?(?: only)? {_N}",
    rf"too large for model with {_N} maximum context length",
    rf"maximum prompt length is {_N}",
    rf"maximum model length of {_N}",
    rf"model \(context length {_N}",
    rf"prompt is too long: {_ANY} tokens > {_N}",
    rf"exceed context limit: {_ANY} \+ {_ANY} > {_N}",
    rf"exceeds the maximum number of tokens allowed \({_N}",
    rf"input token count is {_ANY} but (?:the )?model (?:only )?supports up to {_N}",
    rf"exceeds the available context size \({_N}",
    rf"longer than the model's context length \({_N}",
    rf"loaded with (?:a )?context length of only {_N}",
    rf"\bn_ctx: {_N}",
    rf"input length {_ANY} exceeds (?:the maximum allowed input length of|context length) {_N}",
    rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= {_N}",
    rf"`?inputs`? must have less than {_N} tokens",
    rf"max input (?:length is|tokens:) {_N}",
    rf"exceeded model token limit: {_N}",
    rf"range of input length should be \[\d+, ?{_N}",
    rf"prompt token count of {_ANY} exceeds the limit of {_N}",
    rf"number of tokens (?:in the prompt|\(prompt and prediction\)) cannot exceed {_N}",
    rf"input tokens exceed the configured limit of {_N}",
    rf"configured context size is {_N}",
    rf"context window limit \({_N}",
]
_WITHOUT_WINDOW = [
    r"context_?(length|window|size)_?exceeded",
    r"exceed_context_size",
    r"max_prompt_tokens_exceeded",
    r"ContextWindowExceeded",
    r"context (length|window|size) (has been |was )?exceeded",
    r"exceed(s|ed)? (the |this |its )?(model'?s? )?(available |max(imum)? )?context",
    r"context window exceeds",
    r"prompt (is )?too long\b",
    r"prompt exceeds max length",
    r"input is too long",
    r"too many tokens: size limit exceeded",
    r"exceeds the maximum number of tokens allowed",
    r"greater than the context length",
    r"longer than the model's context",
    r"when (the )?context (the )?overflows",
    r"reduce the length of (the |your )?(input )?(messages|prompt)",
]
_NUMBERED = [re.compile(pattern, re.IGNORECASE) for pattern in _WITH_WINDOW]
_TOO_LONG = re.compile("|".join(_WITHOUT_WINDOW), re.IGNORECASE)
_OTHER_LIMITS = re.compile(
    r"per (minute|hour|day|second)\b|\bTPM\b|rate.?limit|\bbytes\b", re.IGNORECASE
)
# vLLM's room for the answer: what was requested, the context, and the tokens of the prompt.
_ANSWER_TOO_LARGE = re.compile(r"\((\d+) > (\d+) - \d+\)")


def says_too_long(text: str) -> bool:
    """Whether an error's message, type or code says that the request is too long for the model."""
    if _OTHER_LIMITS.search(text):
        return False
    if answer := _ANSWER_TOO_LARGE.search(text):
        requested, window = map(int, answer.groups())
        return requested < window
    return bool(_TOO_LONG.search(text) or any(pattern.search(text) for pattern in _NUMBERED))


def window_in(text: str) -> int | None:
    """Return the size of the context in tokens, if such an error says it."""
    for pattern in _NUMBERED:
        if match := pattern.search(text):
            window = int(re.sub("[,_]", "", match["window"]))
            return window if MIN_WINDOW <= window <= MAX_WINDOW else None
    return None
