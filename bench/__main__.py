"""`python -m bench [NAME…] [--quick]`: takes the figures and prints them against their bars."""

import argparse
import gc
import sys
import time

import uvloop

from bench import machine, table
from bench.figures import FIGURES

NOTEWORTHY_CORES = 0.15


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--quick", action="store_true", help="once, fewer and shorter")
    arguments = parser.parse_args()
    names = [name for asked in arguments.names for name in _parts_of(asked)]
    if unknown := set(names) - set(FIGURES):
        parser.error(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    started_at = time.monotonic()
    print(machine.description())
    print(table.heading(), flush=True)
    missed = sum(_take(name, arguments.quick) for name in names or FIGURES)
    print(f"{missed} missed, in {time.monotonic() - started_at:.0f} s", flush=True)
    sys.exit(1 if missed else 0)


def _parts_of(name: str) -> list[str]:
    """`cluster` is all that begin with `cluster.`."""
    return [known for known in FIGURES if known.startswith(f"{name}.")] or [name]


def _take(name: str, quick: bool) -> int:
    """Prints one figure's rows; returns how many missed their bars."""
    gc.collect()
    gc.disable()  # the driver's own pauses would count as the app's
    others = machine.OthersCPU()
    rows = uvloop.run(FIGURES[name](quick))
    gc.enable()
    for row in rows:
        print(table.formatted(row), flush=True)
    if (cores := others.cores()) > NOTEWORTHY_CORES:
        print(f"    other processes kept {cores:.2f} cores busy during {name}", flush=True)
    return sum(not row.ok for row in rows)


if __name__ == "__main__":
    main()
