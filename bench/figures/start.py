"""From the start of the process to its first page, everything else being set up."""

from statistics import median

from bench.server import serving
from bench.table import Row, at_most

BAR_SECONDS = 2.0


async def measure(quick: bool) -> list[Row]:
    seconds = []
    for _ in range(3 if quick else 5):
        with serving() as server:
            seconds.append(server.seconds_to_first_page)
    figure = f"process start to first page, median of {len(seconds)}"
    return [at_most(figure, median(seconds), BAR_SECONDS, "s", 2)]
