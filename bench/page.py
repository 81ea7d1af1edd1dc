"""Writes the results of a whole run: docs/performance.md with the rows that matter and their chart,
from the templates, and docs/performance.json with all rows."""

import inspect
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from bench.chart import chart
from bench.table import NAMES, Figure, Row

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTEWORTHY_CORES = 0.15
HEADLINES = {
    "start": "process start to first page",
    "page": "everything the chat page loads",
    "conversations.opening": "opening a conversation of 10,000 messages: first paint",
    "closing": "upstream closed after a close (1001): median",
    "steady": "steady: p99",
    "storm": "prompt to first token",
    "pages": "opened at once: p99",
    "rate.alone": "tokens/s",
    "cpu.turn": "CPU a turn",
    "memory": "memory idle",
}
"""The rows on the page: for each of these figures the last row that contains this text."""


@dataclass(frozen=True)
class FigureResult:
    """A figure's rows, and how many cores other processes kept busy meanwhile."""

    name: str
    about: str
    rows: Sequence[Row]
    others: float
    has_failed: bool = False

    @property
    def was_disturbed(self) -> bool:
        return self.others > NOTEWORTHY_CORES


def about(figure: Figure) -> str:
    """Return how a figure is measured: the docstrings of its module and its function."""
    module = inspect.getdoc(sys.modules[figure.__module__]) or ""
    own = inspect.getdoc(figure) or ""
    return " ".join(f"{module} {own}".split())


def write(
    machine: str, figures: Sequence[FigureResult], folder: Path = DOCS, *, is_quick: bool = False
) -> None:
    """Write all files. Raises `ValueError` if a headline is missing among the figures."""
    everything = [row for figure in figures for row in figure.rows]
    missed = [f"{row.figure} ({row.measured})" for row in everything if not row.ok]
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=select_autoescape(["svg"]),
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    picture = chart([row.point for row in everything if row.point])
    words = {
        "machine": machine,
        "is_quick": is_quick,
        "headlines": _headlines(figures),
        "chart": picture,
        "count": sum(bool(row.bar) for row in everything),
        "missed": missed,
        "noteworthy": NOTEWORTHY_CORES,
        "disturbed": [figure.name for figure in figures if figure.was_disturbed],
    }
    for name in pages.list_templates():
        (folder / name).write_text(pages.get_template(name).render(words))
    table = {
        "machine": machine,
        "is_quick": is_quick,
        "figures": [_readable(figure) for figure in figures],
    }
    text = json.dumps(table, indent=1, ensure_ascii=False)
    (folder / "performance.json").write_text(f"{text}\n")


def _headlines(figures: Sequence[FigureResult]) -> list[Row]:
    rows = {figure.name: figure.rows for figure in figures}
    headlines: list[Row] = []
    for name, text in HEADLINES.items():
        named = [row for row in rows.get(name, ()) if text in row.figure]
        if not named:
            raise ValueError(f"the figure {name} has no row about {text!r}")
        headlines.append(named[-1])
    return headlines


def _readable(figure: FigureResult) -> dict[str, object]:
    return {
        "name": figure.name,
        "about": figure.about,
        "cores_kept_busy_by_others": round(figure.others, 2),
        "rows": [dict(zip(NAMES, row.cells, strict=True)) for row in figure.rows],
    }
