"""From the start of the process to its first page, with everything else set up."""

from bench.beside import Pair
from bench.server import limiting, serving
from bench.table import Row

BAR_SECONDS = 2.0


async def measure(quick: bool) -> list[Row]:
    taken = Pair([], [])
    for _ in range(3 if quick else 5):
        with serving() as server:
            taken.app.append(server.seconds_to_first_page)
        with limiting() as server:
            taken.limit.append(server.seconds_to_first_page)
    return [taken.at_most("process start to first page", "s", bar=BAR_SECONDS)]
