"""Records what the actions cost now: `make costs`."""

import asyncio
import tempfile
from pathlib import Path

from tests.costs.actions import ACTIONS, measure
from tests.costs.scene import Scene, open_scene
from tests.costs.table import Cost, record
from tests.support.live import Site


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), "")
        site.prepare()
        with open_scene(site) as scene:
            costs = asyncio.run(_measure_all(scene))
    record(costs)
    for action, cost in costs.items():
        figures = (f"{value:>10,} {name}" for name, value in cost.figures.items())
        print(f"{action:34}" + "".join(figures))


async def _measure_all(scene: Scene) -> dict[str, Cost]:
    return {action: await measure(scene, action) for action in ACTIONS}


if __name__ == "__main__":
    main()
