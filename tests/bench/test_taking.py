"""`make bench` takes one figure after another; only a whole run is written to the page."""

import sys

import pytest

from bench import __main__, page
from bench.table import Row
from tests.support.profile import sample_params


async def measure_whole(quick: bool) -> list[Row]:
    """Return the rows of a figure that can be measured."""
    return [Row("figure", "1 ms", "≤ 2 ms", True)]


async def measure_broken(quick: bool) -> list[Row]:
    """Fail, like a figure that cannot be measured."""
    raise RuntimeError("no Chromium is installed")


@pytest.fixture
def written_pages(monkeypatch: pytest.MonkeyPatch) -> list[list[page.FigureResult]]:
    """Record what the page is made of, each time it is written."""
    written_pages: list[list[page.FigureResult]] = []
    monkeypatch.setattr(
        page, "write", lambda machine, figures, is_quick: written_pages.append(figures)
    )
    return written_pages


def bench(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("arguments", "pages"), sample_params([([], 1), (["one"], 0), (["--quick"], 1)], 2)
)
def test_only_a_run_of_all_figures_writes_the_page(
    monkeypatch: pytest.MonkeyPatch,
    written_pages: list[list[page.FigureResult]],
    arguments: list[str],
    pages: int,
) -> None:
    monkeypatch.setattr(__main__, "FIGURES", {"one": measure_whole})
    assert bench(monkeypatch, *arguments) == 0
    assert len(written_pages) == pages


def test_a_failing_figure_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
    written_pages: list[list[page.FigureResult]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(__main__, "FIGURES", {"one": measure_broken, "other": measure_whole})
    assert bench(monkeypatch) == 1
    assert "failed: RuntimeError" in (printed := capsys.readouterr()).out
    assert "≤ 2 ms" in printed.out
    assert "no Chromium is installed" in printed.err
    assert not written_pages
