"""Limits on the output of one text, so that no text costs more than its length justifies.

They depend only on the source, so that a text is cut at the same place whether it is rendered as a
whole or while it is being written. Above a limit, text is shown unformatted, with a notice.

A weight estimates the most HTML that a piece of Markdown can produce (prose, markup, lines, links,
cells or formulas), in characters. Rendering it takes about as many microseconds.
"""

import re

MAX_TEXT_LENGTH = 1_000_000  # characters; the rest is stored but not shown
MAX_WEIGHT = 4_000_000  # of a text
MAX_BLOCK_LENGTH = 32 * 1024  # characters; a longer block is not meant as Markdown
MAX_CELLS = 10_000  # in the tables of one block; short rows are padded to the header's width
DEEPEST = 60  # levels of nested quotes and lists
MAX_COLOURED_LENGTH = 16 * 1024  # characters of code
MAX_DEFINITION_LENGTH = 2000  # characters of a link definition that other blocks may use
MAX_DEFINED_IN_BLOCK = 20_000  # characters from the link definitions used in one block
MAX_DEFINED = 200_000  # characters from link definitions in one text

# The most work in one turn of the event loop: on new text, and on rendering a block.
WORK_A_TURN = 8_000
HEAVIEST_AT_ONCE = 40_000
FORMULAS_AT_ONCE = 16
MAX_FORMULA_AT_ONCE = 120  # characters

TOO_MUCH_IN_BLOCK = "This part is too large or too deeply nested to format. Showing plain text."
TOO_MUCH_IN_TEXT = "This text is too large to format completely. Showing the rest as plain text."
TOO_LONG = "The rest of this text is saved, but it is too long to show here."

_BLOCK, _LINE, _MARK, _LINK, _CELL, _FORMULA, _COLOURS = 200, 25, 6, 100, 12, 10, 8
_MARKS = str.maketrans("", "", '*_~`[]!<>&"|$\\\xa0')
_DELIMITERS = re.compile(r"[\s>*+\d.)-]*[|:-][\s|:-]*\Z")
_MARKERS = re.compile(r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*")
_DECIDING = 400  # characters of a line


def weight_of_line(line: str) -> int:
    """Return the weight of a line of Markdown, without its table cells."""
    marks = len(line) - len(line.translate(_MARKS))
    links = line.count("://") + line.count("www.") + line.count("@") + line.count("](")
    return len(line) + _LINE + _MARK * marks + _LINK * links


def weight_of_formulas(line: str) -> int:
    """Return the additional weight of a line that may contain formulas."""
    return _FORMULA * len(line) if "$" in line or "\\(" in line or "\\[" in line else 0


def weight_of_block(lines: int, cells: int) -> int:
    """Return the weight of a block from the weight of its lines and its number of cells."""
    return _BLOCK + lines + _CELL * cells


def weight_of_colours(size: int) -> int:
    """Return the additional weight of a fence's syntax colours."""
    return _COLOURS * size if size <= MAX_COLOURED_LENGTH else 0


def count_columns(line: str) -> int:
    """Return the number of columns if the line may be a table's delimiter row, otherwise 0."""
    return line.count("|") + 1 if _DELIMITERS.match(line) and "-" in line else 0


def measure_depth(line: str, *, in_list: bool) -> int:
    """Return how many nested quotes and list items the line opens or continues."""
    head = line[:_DECIDING]
    match = _MARKERS.match(head)
    markers = match[0] if match else ""
    space = len(head) - len(head.lstrip(" ")) if in_list else 0
    return sum(markers.count(mark) for mark in ">-*+.)") + space // 2
