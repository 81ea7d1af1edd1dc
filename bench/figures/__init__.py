"""The figures, by name: each takes whether to be quick and returns rows of the table."""

from bench.figures import (
    audit,
    bombs,
    browser,
    closing,
    cluster,
    conversations,
    cpu,
    journal,
    memory,
    page,
    prompts,
    proxies,
    rate,
    search,
    start,
    streams,
    traffic,
)
from bench.table import Figure

FIGURES: dict[str, Figure] = {
    "start": start.measure,
    "page": page.measure,
    "browser": browser.measure,
    **{f"conversations.{name}": measure for name, measure in conversations.PARTS.items()},
    "closing": closing.measure,
    "prompts": prompts.measure,
    "steady": streams.steady,
    "storm": streams.storm,
    **{f"rate.{name}": measure for name, measure in rate.PARTS.items()},
    "proxies": proxies.measure,
    **{f"cpu.{name}": measure for name, measure in cpu.PARTS.items()},
    "memory": memory.measure,
    "traffic": traffic.measure,
    **{f"journal.{name}": measure for name, measure in journal.PARTS.items()},
    **{f"search.{name}": measure for name, measure in search.PARTS.items()},
    "audit": audit.measure,
    "bombs": bombs.measure,
    "growth": bombs.measure_growth,
    **{f"cluster.{name}": measure for name, measure in cluster.PARTS.items()},
}
