"""docs/performance.md is made from the figures given, and fails if one is missing."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jinja2 import UndefinedError

from bench import page, table
from bench.figures import FIGURES
from bench.table import Point, Row

SVG = {"svg": "http://www.w3.org/2000/svg"}


def rows_of(name: str) -> list[Row]:
    """Return two rows for each figure, one of which misses its bar."""
    met = Row(f"{name} one", "1.5 ms", "≤ 3 ×", True, "0.5", 3.0, point_of(name))
    return [met, Row(f"{name} two", "7 MiB", "≤ 5 MiB", False)]


def point_of(name: str) -> Point | None:
    return Point(name, 50, 20.0, 0.5) if name in ("steady", "storm") else None


def taken(names: Sequence[str], others: float = 0.0) -> list[page.Taken]:
    return [page.Taken(name, page.about(FIGURES[name]), rows_of(name), others) for name in names]


def test_each_figure_is_on_the_page(tmp_path: Path) -> None:
    page.write("a machine of 4 cores", taken(list(FIGURES)), tmp_path)
    text = (tmp_path / "performance.md").read_text()
    assert "a machine of 4 cores" in text
    assert f"Of {2 * len(FIGURES)} bars, {len(FIGURES)} were missed" in text
    for name in FIGURES:
        assert f"### {name}\n" in text
        assert f"| {name} one | 1.5 ms | 0.5 | 3.0 × | ≤ 3 × | ok |" in text
        assert f"| {name} two | 7 MiB |  |  | ≤ 5 MiB | MISSED |" in text
    assert "Other processes" not in text
    assert "a quick" not in text


def test_the_page_of_a_quick_run_says_so(tmp_path: Path) -> None:
    page.write("a machine", taken(list(FIGURES)), tmp_path, is_quick=True)
    assert "a quick" in (tmp_path / "performance.md").read_text()


def test_each_figure_says_how_it_is_measured() -> None:
    assert all(page.about(figure) for figure in FIGURES.values())


def test_the_page_names_what_was_taken_on_a_busy_machine(tmp_path: Path) -> None:
    quiet, busy = taken(list(FIGURES)[:-1]), taken(list(FIGURES)[-1:], others=2.0)
    page.write("a machine", [*quiet, *busy], tmp_path)
    assert f"were taken: {busy[0].name}." in (tmp_path / "performance.md").read_text()


def test_no_page_is_written_if_a_figure_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError):
        page.write("a machine", taken(["steady", "storm"]), tmp_path)


def test_the_picture_has_a_line_for_each_load_at_app_and_limit(tmp_path: Path) -> None:
    page.write("a machine", taken(list(FIGURES)), tmp_path)
    picture = ElementTree.parse(tmp_path / "performance.svg")  # noqa: S314 - our own
    drawn = [line.get("class") for line in picture.iterfind(".//svg:polyline", SVG)]
    assert drawn == [
        "line app steady",
        "line app storm",
        "line limit steady",
        "line limit storm",
    ]
    heights = {
        circle.get("class"): float(circle.get("cy", "0"))
        for circle in picture.iterfind(".//svg:circle", SVG)
    }
    assert heights["app"] < heights["limit"]  # the slower one is higher up
    labels = [title.text for title in picture.iterfind(".//svg:circle/svg:title", SVG)]
    assert "limit, storm of 50: 0.5 ms" in labels


def test_a_row_without_a_bar_has_no_verdict() -> None:
    assert table.formatted(Row("figure", "1 ms", "", True)).split() == ["figure", "1", "ms"]
