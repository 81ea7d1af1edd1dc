"""Recognise errors that refuse tools altogether, in any gateway's words.

`tests/upstream/wire/test_tool_refusals.py` has the messages that the patterns were made for. Errors
about one tool (its name, schema or arguments) or about one way to use tools match none of them:
they say nothing about the model.
"""

import re

# Words that name a part of a request, or that a refusal of one tool has.
_ABOUT_ONE = re.compile(
    r"\btools?\W{0,2}[\[.]\w|\brequest\.tools\b|schema|\bparameters\b|validat|function_declarations"
    r"|\b(parallel|multiple|strict|custom|hosted|built-?in|nested) tool"
    r"|\btools?( \w+)? (together |combined )?(with|when|while|if) (?!(this|the|your) |stream)",
    re.IGNORECASE,
)
_QUOTE = "[\"'`]?"
_TOOLS = rf"{_QUOTE}\btools?( (use|usage|calling|calls?|params?|parameter))?\b{_QUOTE}"
_NO_TOOLS = re.compile(
    "|".join(
        [
            rf"\bsupport(s|ed|ing)? ((the|use|of|using|any|for) ){{0,3}}{_TOOLS}"
            r"(?! ?[\"'`]| choice)",
            rf"{_TOOLS} (is |are )?(currently )?"
            r"(not (supported|available|enabled|allowed|permitted)|unsupported|disabled)",
            r"\btool[ _-]choice\b[\"'`]? requires\b",
            rf"{_TOOLS} requires? ",
            rf"\b(cannot|can't|can not|unable to) use {_TOOLS}(?! ?[\"'`])",
            r"\b(unsupported|unknown|unrecognized|unexpected|extra) [^.\d]{0,50}"
            rf"{_QUOTE}\btools\b(?![\[.])",
            rf"{_QUOTE}\btools{_QUOTE}: extra inputs",
        ]
    ),
    re.IGNORECASE,
)


def says_no_tools(message: str) -> bool:
    """Whether the message says that the model takes no tools at all."""
    return bool(_NO_TOOLS.search(message)) and not _ABOUT_ONE.search(message)
