"""docs/performance.md and .json are made from the figures given, which must have the headlines."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import page, table
from bench.figures import FIGURES
from bench.table import Point, Row

SVG = {"svg": "http://www.w3.org/2000/svg"}


def build_rows(name: str) -> list[Row]:
    """Return a row that meets its bar and may be a headline, and a row that misses its bar."""
    label = f"{name} one, {page.HEADLINES.get(name, 'no headline')}"
    met = Row(label, "1.5 ms", "≤ 3 ×", True, "0.5", 3.0, build_point(name))
    return [met, Row(f"{name} two", "7 MiB", "≤ 5 MiB", False)]


def build_point(name: str) -> Point | None:
    return Point(name, 50, 20.0, 0.5) if name in ("steady", "storm") else None


def build_results(names: Sequence[str], others: float = 0.0) -> list[page.FigureResult]:
    return [
        page.FigureResult(name, page.about(FIGURES[name]), build_rows(name), others)
        for name in names
    ]


def test_the_page_has_the_headlines_and_the_table_every_row(tmp_path: Path) -> None:
    page.write("a machine of 4 cores", build_results(list(FIGURES)), tmp_path)
    text = (tmp_path / "performance.md").read_text()
    assert "a machine of 4 cores" in text
    assert (
        f"{len(FIGURES)} of {2 * len(FIGURES)} bars were missed, among them: start two (7 MiB)"
        in text
    )
    assert text.count("\n| ") == 1 + len(page.HEADLINES)
    for name, label in page.HEADLINES.items():
        assert f"| {name} one, {label} | 1.5 ms | 0.5 | 3.0 × | ≤ 3 × | ok |" in text
    assert "Other processes" not in text
    assert "a quick" not in text
    table = json.loads((tmp_path / "performance.json").read_text())
    assert [figure["name"] for figure in table["figures"]] == list(FIGURES)
    assert table["figures"][-1]["rows"][1] == {
        "figure": f"{list(FIGURES)[-1]} two",
        "measured": "7 MiB",
        "limit": "",
        "ratio": "",
        "bar": "≤ 5 MiB",
        "verdict": "MISSED",
    }


def test_the_page_is_short(tmp_path: Path) -> None:
    page.write("a machine", build_results(list(FIGURES), others=2.0), tmp_path)
    assert len((tmp_path / "performance.md").read_text().split()) <= 800


def test_the_page_of_a_quick_run_says_so(tmp_path: Path) -> None:
    page.write("a machine", build_results(list(FIGURES)), tmp_path, is_quick=True)
    assert "a quick" in (tmp_path / "performance.md").read_text()


def test_each_figure_says_how_it_is_measured() -> None:
    assert all(page.about(figure) for figure in FIGURES.values())


def test_the_page_names_what_was_taken_on_a_busy_machine(tmp_path: Path) -> None:
    quiet, busy = build_results(list(FIGURES)[:-1]), build_results(list(FIGURES)[-1:], others=2.0)
    page.write("a machine", [*quiet, *busy], tmp_path)
    assert f"were taken: {busy[0].name}." in (tmp_path / "performance.md").read_text()


def test_no_page_is_written_if_a_headline_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the figure start has no row"):
        page.write("a machine", build_results(["steady", "storm"]), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_picture_has_a_line_for_each_load_at_app_and_limit(tmp_path: Path) -> None:
    page.write("a machine", build_results(list(FIGURES)), tmp_path)
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
    assert table.format_row(Row("figure", "1 ms", "", True)).split() == ["figure", "1", "ms"]
