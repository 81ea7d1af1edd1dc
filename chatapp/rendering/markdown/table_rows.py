"""Keeps the words of a table's rows: escapes pipes that would split code, or add cells.

GitHub's Markdown splits a row at each pipe that has no backslash, also within code, and drops the
cells that the table's header has no column for. Models write `a|b` in cells all the time.
"""

import re

from .blocks import parse_fence

_MARKERS = r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"  # of quotes and list items
_PREFIX = re.compile(_MARKERS)
_DELIMITERS = re.compile(rf"{_MARKERS}(\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?)[ \t]*\Z")
_ENDS_TABLE = re.compile(r"[ \t>]*(?:\Z|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])")
_TICKS = re.compile(r"`+")
_PIPE = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_LINK = re.compile(r"\[[^\[\]\n]{0,200}\]\([^()\s]{0,2000}\)")

Span = tuple[int, int]


def with_whole_rows(source: str) -> str:
    """Return Markdown with the rows of its tables escaped where that keeps their words."""
    if "|" not in source:
        return source
    lines = source.split("\n")
    columns, fence = 0, None
    for number, line in enumerate(lines):
        if fence:
            fence = None if fence.closes_fence(_content(line)) else fence
        elif new_fence := parse_fence(_content(line)):
            columns, fence = 0, new_fence
        elif columns and not _ENDS_TABLE.match(line):
            is_open = number == len(lines) - 1
            lines[number] = _row(line, columns, is_open=is_open)
        elif number and (delimiters := _DELIMITERS.match(line)) and "|" in lines[number - 1]:
            columns = len(_cells(delimiters[1]))
            lines[number - 1] = _header(lines[number - 1], columns)
        else:
            columns = 0
    return "\n".join(lines)


def last_cell(line: str) -> int:
    """Return where the last cell of an incomplete row begins. Code may be open at its end."""
    code = _code(line)
    start = code[-1][1] if code else 0
    opened = (match.start() for match in _TICKS.finditer(line, start))
    end = next((at for at in opened if not _is_escaped(line, at)), len(line))
    pipes = [match.end() for match in _PIPE.finditer(line, 0, end)]
    within = {at for span in code for at in range(*span)}
    return next((pipe for pipe in reversed(pipes) if pipe - 1 not in within), 0)


def _content(line: str) -> str:
    """Return the line without the markers of quotes and list items."""
    return line[_prefix(line) :]


def _prefix(line: str) -> int:
    match = _PREFIX.match(line)
    return match.end() if match else 0


def _header(line: str, columns: int) -> str:
    """Return the header with its code whole if that gives it the right number of cells."""
    whole = _escape_pipes(line, _code(line))
    return whole if len(_cells(line)) != columns == len(_cells(whole)) else line


def _row(line: str, columns: int, *, is_open: bool) -> str:
    """Return a row; one that is still being written, and so may have more cells, `is_open`."""
    code = _code(line)
    if not is_open and len(_cells(line)) <= columns:
        # A pipe between spaces may be meant: two cells, each with a stray backtick.
        code = [span for span in code if " | " not in line[slice(*span)]]
    row = _escape_pipes(line, code)
    if len(_cells(row)) > columns:
        row = _escape_pipes(row, [match.span() for match in _LINK.finditer(row)])
    if len(_cells(row)) > columns:
        row = _escape_pipes(row, [_surplus(row, columns)])
    return row


def _cells(line: str) -> list[Span]:
    """Return where the cells of a row are."""
    start, end = _prefix(line), len(line.rstrip())
    pipes = [match.end() - 1 for match in _PIPE.finditer(line, start, end)]
    if pipes and not line[start : pipes[0]].strip():
        start = pipes.pop(0) + 1
    if pipes and pipes[-1] == end - 1:
        end = pipes.pop()
    starts, ends = [start, *(pipe + 1 for pipe in pipes)], [*pipes, end]
    return list(zip(starts, ends, strict=True))


def _surplus(line: str, columns: int) -> Span:
    """Return the last column of the header with the cells after it."""
    cells = _cells(line)
    return cells[columns - 1][0], cells[-1][1]


def _escape_pipes(line: str, spans: list[Span]) -> str:
    """Return the line with the pipes in these places escaped."""
    for start, end in reversed(spans):
        line = line[:start] + _PIPE.sub(r"\1\\|", line[start:end]) + line[end:]
    return line


def _code(line: str) -> list[Span]:
    """Return where a line has code; a run of backticks ends with the next one of its length."""
    spans: list[Span] = []
    runs = [match.span() for match in _TICKS.finditer(line)]
    last = {end - start: number for number, (start, end) in enumerate(runs)}
    opening = 0
    while opening < len(runs):
        start, end = runs[opening]
        length, opening = end - start, opening + 1
        if last[length] < opening or _is_escaped(line, start):
            continue
        closing = next(n for n in range(opening, len(runs)) if _length(runs[n]) == length)
        spans.append((start, runs[closing][1]))
        opening = closing + 1
    return spans


def _length(span: Span) -> int:
    return span[1] - span[0]


def _is_escaped(line: str, at: int) -> bool:
    before = line[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
