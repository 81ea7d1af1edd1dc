"""docs/performance.md and its chart: the figures of a whole run, within text from the templates."""

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from bench.chart import chart
from bench.table import Figure, Row

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTEWORTHY_CORES = 0.15


@dataclass(frozen=True)
class Taken:
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
    machine: str, figures: Sequence[Taken], folder: Path = DOCS, *, is_quick: bool = False
) -> None:
    rows = {taken.name: taken.rows for taken in figures}
    everything = [row for taken in figures for row in taken.rows]
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
        "figures": figures,
        "rows": rows,
        "chart": picture,
        "compared": [row for row in everything if row.ratio is not None and row.bar],
        "count": sum(bool(row.bar) for row in everything),
        "missed": sum(not row.ok for row in everything),
        "noteworthy": NOTEWORTHY_CORES,
        "disturbed": [taken.name for taken in figures if taken.was_disturbed],
    }
    for name in pages.list_templates():
        (folder / name).write_text(pages.get_template(name).render(words))
