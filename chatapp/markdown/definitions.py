"""Link reference definitions (`[label]: address`), which one block makes and others use."""

import re

from .blocks import Block

_DEFINITION = re.compile(r" {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*[^\s].*")
_USE = re.compile(r"\[([^\[\]]{1,200})\]")
_MOST_USED = 50  # definitions in one block, so that repeating them stays cheap


class Definitions:
    """The definitions seen so far, the first of a label being the one that counts."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def learn(self, block: Block) -> None:
        """Remember the definitions that the block begins with."""
        if block.kind != "paragraph":
            return
        for line in block.lines:
            found = _DEFINITION.match(line)
            if found is None:
                return
            self._lines.setdefault(_folded(found[1]), found[0])

    def used_in(self, source: str) -> str:
        """Those that the text may use, as Markdown to stand before it."""
        if not self._lines or "[" not in source:
            return ""
        labels = dict.fromkeys(_folded(label) for label in _USE.findall(source))
        lines = [self._lines[label] for label in labels if label in self._lines]
        return "".join(line + "\n" for line in lines[:_MOST_USED]) + "\n" if lines else ""


def _folded(label: str) -> str:
    return " ".join(label.split()).casefold()
