"""Writes tables, headings and lists as Markdown."""

from collections.abc import Sequence


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
    following = "\n" + indent + " " * (len(marker) + 1)
    return f"{indent}{marker} {following.join(text.splitlines())}" if text.strip() else ""
