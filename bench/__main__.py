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
    names = [name for asked in arguments.names for name in _parts_of(asked)]
    if unknown := set(names) - set(FIGURES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    started_at = time.monotonic()
    on = machine.description()
    print(f"{on}\n{table.heading()}", flush=True)
    figures = [_take(name, arguments.quick) for name in names or FIGURES]
    if not names and not any(taken.has_failed for taken in figures):
        page.write(on, figures, is_quick=arguments.quick)
    missed = sum(not row.ok for taken in figures for row in taken.rows)
    print(f"{missed} missed, in {time.monotonic() - started_at:.0f} s", flush=True)
    sys.exit(1 if missed else 0)


def _parts_of(name: str) -> list[str]:
    """Expand a group: `cluster` stands for all names that begin with `cluster.`."""
    return [known for known in FIGURES if known.startswith(f"{name}.")] or [name]


def _take(name: str, quick: bool) -> page.Taken:
    """Take one figure and print its rows."""
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
        print(table.formatted(row), flush=True)
    taken = page.Taken(name, page.about(FIGURES[name]), rows, others.cores(), has_failed)
    if taken.was_disturbed:
        print(f"    other processes kept {taken.others:.2f} cores busy during {name}", flush=True)
    return taken


if __name__ == "__main__":
    main()
