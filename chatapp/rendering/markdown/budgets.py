"""How much may be produced of one text, so that no text costs more than its length is worth.

Everything here is decided by the source alone, so that a text is cut the same whether it is
rendered as a whole or while it is written. Past a budget, text is shown as it was written, and a
notice says so.

A weight is what a piece of Markdown makes at most, in characters of HTML and about as many
microseconds, be it prose or markup, lines, links, cells or formulas.
"""

import re

LONGEST_TEXT = 1_000_000  # characters; what follows is kept, and not shown
MOST_WEIGHT = 4_000_000  # of a text
LONGEST_BLOCK = 32 * 1024  # characters; what is longer was not written as Markdown
MOST_CELLS = 10_000  # of one block's tables; a short row is filled up to the header's width
DEEPEST = 60  # quotes and lists in each other
LONGEST_COLOURED = 16 * 1024  # characters of code
LONGEST_DEFINITION = 2000  # characters of a link definition that other blocks may use
MOST_DEFINED_IN_BLOCK = 20_000  # characters that the definitions used in a block make
MOST_DEFINED = 200_000  # the same of a text

# What may be done in one turn of the event loop: of new text, and to draw the open block again.
WORK_A_TURN = 8_000
HEAVIEST_AT_ONCE = 40_000
FORMULAS_AT_ONCE = 16
LONGEST_FORMULA_AT_ONCE = 120  # characters

TOO_MUCH_IN_BLOCK = (
    "This part is too large or too deeply nested to be formatted. It is shown as it was written."
)
TOO_MUCH_IN_TEXT = (
    "This text is too large to be formatted as a whole. The rest is shown as it was written."
)
TOO_LONG = "The rest of this text is too long for a page. It is kept, and not shown here."

_BLOCK, _LINE, _MARK, _LINK, _CELL, _FORMULA, _COLOURS = 200, 25, 6, 100, 12, 10, 8
_MARKS = str.maketrans("", "", '*_~`[]!<>&"|$\\\xa0')
_DELIMITERS = re.compile(r"[\s>*+\d.)-]*[|:-][\s|:-]*\Z")
_MARKERS = re.compile(r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*")
_DECIDING = 400  # characters of a line


def weight_of_line(line: str) -> int:
    """What a line of Markdown may make, its table's cells not counted."""
    marks = len(line) - len(line.translate(_MARKS))
    links = line.count("://") + line.count("www.") + line.count("@") + line.count("](")
    return len(line) + _LINE + _MARK * marks + _LINK * links


def weight_of_formulas(line: str) -> int:
    """What a line's formulas make besides, where there are any."""
    return _FORMULA * len(line) if "$" in line or "\\(" in line or "\\[" in line else 0


def weight_of_block(lines: int, cells: int) -> int:
    """What a block weighs, given what its lines do and its cells."""
    return _BLOCK + lines + _CELL * cells


def weight_of_colours(size: int) -> int:
    """What the colours of a fence make besides."""
    return _COLOURS * size if size <= LONGEST_COLOURED else 0


def columns_of(line: str) -> int:
    """How wide a table is that this line may be the delimiters of; 0 where it can't be."""
    return line.count("|") + 1 if _DELIMITERS.match(line) and "-" in line else 0


def depth_of(line: str, *, in_list: bool) -> int:
    """How many quotes and items the line opens in each other, or goes on with."""
    head = line[:_DECIDING]
    found = _MARKERS.match(head)
    markers = found[0] if found else ""
    space = len(head) - len(head.lstrip(" ")) if in_list else 0
    return sum(markers.count(mark) for mark in ">-*+.)") + space // 2
