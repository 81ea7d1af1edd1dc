"""Link reference definitions (`[label]: address`), which one block contains and others use."""

import re
from collections import Counter

from . import budgets
from .blocks import Block

# A line with a label, an address, an optional title and nothing else. A line that only looks like
# a definition, such as "[1]: Smith, J. (2020)." in a list of references, stays text, and so does a
# footnote.
_DEFINITION = re.compile(
    r""" {0,3}\[(?!\^\d)([^\[\]\n]{1,200})\]:[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)"""
    r"""(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$""",
    re.MULTILINE,
)
_USE = re.compile(r"\[([^\[\]]{1,200})\]")
_MAX_USED = 50  # definitions per block, so that repeating them stays cheap


class Definitions:
    """The definitions seen so far; the first one of a label counts."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def learn(self, block: Block) -> None:
        """Add the definitions that the block begins with."""
        if block.kind != "paragraph":
            return
        for line in block.lines:
            match = _DEFINITION.match(line)
            if match is None:
                return
            if len(match[0]) <= budgets.MAX_DEFINITION_LENGTH:
                self._lines.setdefault(_fold_label(match[1]), match[0])

    def find_used(self, source: str) -> str:
        """Return the definitions that the text may use, as Markdown to put before it."""
        if not self._lines or "[" not in source:
            return ""
        uses = Counter(_fold_label(label) for label in _USE.findall(source))
        counted_lines = [
            (self._lines[label], uses[label]) for label in uses if label in self._lines
        ]
        lines, left = [], budgets.MAX_DEFINED_IN_BLOCK
        for line, times in counted_lines[:_MAX_USED]:
            left -= len(line) * times
            if left > 0:
                lines.append(line)
        return "".join(line + "\n" for line in lines) + "\n" if lines else ""


class UsedDefinitions:
    """The definitions that the blocks of a text use. Call `for_block` in their order."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._left = budgets.MAX_DEFINED

    def for_block(self, block: Block) -> str:
        used = self._definitions.find_used(block.source) if block.is_formatted else ""
        if not used or block.kind == "fence" or len(used) > self._left:
            return ""
        self._left -= len(used)
        return used


def _fold_label(label: str) -> str:
    return " ".join(label.split()).casefold()
