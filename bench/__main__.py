"""`python -m bench [NAME…] [--quick]`: takes the figures and prints them against their bars.

A run of all of them also writes docs/performance.md, unless one could not be taken.
"""

import argparse
import gc
import sys
import time
import traceback

import uvloop

from bench import machine, page, table
from bench.figures import FIGURES
from bench.table import Row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--quick", action="store_true", help="once, fewer and shorter")
    arguments = parser.parse_args()
    names = [name for argument in arguments.names for name in _expand_group(argument)]
    if unknown := set(names) - set(FIGURES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    started_at = time.monotonic()
    on = machine.description()
    print(f"{on}\n{table.heading()}", flush=True)
    figures = [_measure_figure(name, arguments.quick) for name in names or FIGURES]
    if not names and not any(figure.has_failed for figure in figures):
        page.write(on, figures, is_quick=arguments.quick)
    missed = sum(not row.ok for figure in figures for row in figure.rows)
    print(f"{missed} missed, in {time.monotonic() - started_at:.0f} s", flush=True)
    sys.exit(1 if missed else 0)


def _expand_group(name: str) -> list[str]:
    """Expand a group: `cluster` stands for all names that begin with `cluster.`."""
    return [figure_name for figure_name in FIGURES if figure_name.startswith(f"{name}.")] or [name]


def _measure_figure(name: str, quick: bool) -> page.FigureResult:
    """Measure one figure and print its rows."""
    gc.collect()
    gc.disable()  # the driver's own pauses would count as the app's
    others, has_failed = machine.OthersCPU(), False
    try:
        rows = uvloop.run(FIGURES[name](quick))
    except Exception as error:  # noqa: BLE001 - the other figures are still to be taken
        traceback.print_exc()
        rows = [Row(name, f"failed: {type(error).__name__}", "", ok=False)]
        has_failed = True
    gc.enable()
    for row in rows:
        print(table.format_row(row), flush=True)
    result = page.FigureResult(name, page.about(FIGURES[name]), rows, others.cores(), has_failed)
    if result.was_disturbed:
        print(f"    other processes kept {result.others:.2f} cores busy during {name}", flush=True)
    return result


if __name__ == "__main__":
    main()
