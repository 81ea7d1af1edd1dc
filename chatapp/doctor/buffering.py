"""Whether what is written a piece at a time comes a piece at a time."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from chatapp.checks.results import Finding, ok, skipped, warning
from chatapp.doctor import probe
from chatapp.doctor.public import Public
from chatapp.doctor.report import reason

_CURE = "Switch the proxy's buffering off (nginx: proxy_buffering off)."


@dataclass
class Arrivals:
    """When the pieces of a trickle were written and when they came: seconds, each by a clock of its
    own."""

    times: list[tuple[float, float]] = field(default_factory=list)

    def take(self, piece: str | bytes) -> None:
        """Note a piece that comes now, and says when it was written. Raises `ValueError`."""
        self.times.append((float(piece), time.monotonic()))

    @property
    def lateness(self) -> float:
        """How much longer the slowest piece took than the fastest."""
        ways = [arrived - written for written, arrived in self.times]
        return max(ways) - min(ways) if ways else 0.0

    @property
    def are_buffered(self) -> bool:
        """Told from the machine's own hiccups, which are shorter than three pieces."""
        return self.lateness > 3 * probe.PAUSE_SECONDS

    def __str__(self) -> str:
        span = (len(self.times) - 1) * probe.PAUSE_SECONDS
        late = f"the slowest {self.lateness * 1000:.0f} ms late"
        return f"{len(self.times)} pieces over {span:.1f} s, {late}"


def http_buffering(public: Public) -> Iterator[Finding]:
    """Whether ten lines written over a second come over a second."""
    arrivals = Arrivals()
    try:
        with public.http.stream("GET", "/probe/trickle", headers=public.headers) as response:
            if response.status_code != 200:
                yield skipped("HTTP streaming", f"the probe answers {response.status_code}")
                return
            for line in response.iter_lines():
                arrivals.take(line)
    except (httpx.HTTPError, ValueError) as error:
        yield warning("HTTP streaming", reason(error), _CURE)
        return
    if arrivals.are_buffered:
        found = (
            f"is buffered: a line came {arrivals.lateness:.1f} s late. Replies come over the "
            "WebSocket, so they need not wait"
        )
        yield warning("HTTP streaming", found, _CURE)
    else:
        yield ok("HTTP streaming", str(arrivals))
