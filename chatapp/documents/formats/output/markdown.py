"""Writes tables, headings and lists as Markdown."""

import re
from collections.abc import Sequence

RULE = re.compile(r"\|(?: --- \|)+")
COLUMN_END = re.compile(r" (?<!\\)\| ")
MARKDOWN_NUMBER = re.compile(r"[0-9]{1,9}[.)]")
SHORT_MARKER = re.compile(r"\(?[^\W_]{1,6}[.)]")  # such as (a), iv. and あ)
WORDS = re.compile(r"[^\W\d_]|\x1a")  # letters, or what stands for a picture
MAX_REPEATED_LENGTH = 100


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, the first row as its head. Empty rows and columns are left out."""
    rows = [row for row in rows if any(row)]
    width = max(map(len, rows), default=0)
    used = [i for i in range(width) if any(i < len(row) and row[i] for row in rows)]
    if not used:
        return ""
    lines = [_line([row[i] if i < len(row) else "" for i in used]) for row in rows]
    lines.insert(1, "|" + " --- |" * len(used))
    return "\n".join(lines)


def fill_merged(rows: Sequence[Sequence[str | None]]) -> list[list[str]]:
    """Return rows in which each None, a cell merged with the one above, has its text again.

    Long texts and those with pictures are not repeated.
    """
    filled: list[list[str]] = []
    for row in rows:
        above = filled[-1] if filled else []
        filled.append(
            [_text_below(above, i) if cell is None else cell for i, cell in enumerate(row)]
        )
    return filled


def _text_below(above: Sequence[str], column: int) -> str:
    text = above[column] if column < len(above) else ""
    return text if len(text) <= MAX_REPEATED_LENGTH and "\x1a" not in text else ""


def has_words(text: str) -> bool:
    """Return whether a header says more than the number of its page."""
    return WORDS.search(text) is not None


def flat(text: str) -> str:
    """Return blocks as one line, for a cell or a mark. Rows of a table stand in parentheses."""
    lines = (line.strip() for line in text.splitlines())
    return " ".join(_flat_row(line) for line in lines if line and not RULE.fullmatch(line))


def _flat_row(line: str) -> str:
    if not (line.startswith("| ") and line.endswith(" |")):
        return " ".join(line.split())
    cells = (cell.replace("\\|", "|").strip() for cell in COLUMN_END.split(f" {line} "))
    return f"({' · '.join(cell for cell in cells if cell)})"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def heading(text: str, level: int) -> str:
    line = " ".join(text.split())
    return f"{'#' * min(max(level, 1), 6)} {line}" if line else ""


def item(text: str, level: int = 0, marker: str = "-") -> str:
    """Return a list item; its further lines are indented below its first."""
    indent = "  " * min(level, 8) if marker == "-" else "   " * min(level, 8)
    lines = text.split("\n")
    following = "\n" + indent + " " * (len(marker) + 1)
    return f"{indent}{marker} {following.join(lines)}" if text.strip() else ""


def number_paragraph(text: str, level: int, marker: str) -> tuple[str, bool]:
    """Return a paragraph with its number, and whether it is an item of a list.

    Numbers such as § 1.2 are no markers of lists in Markdown, so they stand in paragraphs.
    """
    if marker == "-" or MARKDOWN_NUMBER.fullmatch(marker):
        return item(text, level, marker), True
    return f"{marker} {text}" if marker else text, bool(SHORT_MARKER.fullmatch(marker))
