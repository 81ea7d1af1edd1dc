"""The figures, by name: each takes whether to be quick and returns rows of the table."""

from bench.figures import (
    bombs,
    browser,
    closing,
    cluster,
    cpu,
    journal,
    memory,
    page,
    prompts,
    proxies,
    start,
    streams,
    traffic,
)
from bench.table import Figure

FIGURES: dict[str, Figure] = {
    "start": start.measure,
    "page": page.measure,
    "browser": browser.measure,
    "closing": closing.measure,
    "prompts": prompts.measure,
    "streams": streams.measure,
    "proxies": proxies.measure,
    "cpu": cpu.measure,
    "memory": memory.measure,
    "traffic": traffic.measure,
    **{f"journal.{name}": measure for name, measure in journal.PARTS.items()},
    "bombs": bombs.measure,
    "growth": bombs.measure_growth,
    **{f"cluster.{name}": measure for name, measure in cluster.PARTS.items()},
}
