"""Check whether a streamed HTTP response arrives piece by piece or is buffered on the way."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from chatapp.checks.phrases import reason
from chatapp.checks.results import CheckResult, ok, skipped, warning
from chatapp.doctor import probe
from chatapp.doctor.public import Public

_REMEDY = "Turn the proxy's buffering off (nginx: proxy_buffering off)."


@dataclass
class Arrivals:
    """The times at which each piece of a stream was written and arrived.

    In seconds, by the clocks of the app and of the doctor, which need not agree.
    """

    times: list[tuple[float, float]] = field(default_factory=list)

    def record_piece(self, piece: str | bytes) -> None:
        """Record a piece that arrived now and contains the time when it was written.

        Raises `ValueError` if it is no number.
        """
        self.times.append((float(piece), time.monotonic()))

    @property
    def lateness(self) -> float:
        """The difference in seconds between the slowest piece and the fastest."""
        delays = [arrived - written for written, arrived in self.times]
        return max(delays) - min(delays) if delays else 0.0

    @property
    def are_buffered(self) -> bool:
        """Whether the delay exceeds three pieces, which is longer than hiccups of the machine."""
        return self.lateness > 3 * probe.PAUSE_SECONDS

    def __str__(self) -> str:
        span = (len(self.times) - 1) * probe.PAUSE_SECONDS
        late = f"the slowest {self.lateness * 1000:.0f} ms late"
        return f"{len(self.times)} pieces over {span:.1f} s, {late}"


def http_buffering(public: Public) -> Iterator[CheckResult]:
    """Check whether ten lines written over a second arrive over a second."""
    arrivals = Arrivals()
    try:
        with public.http.stream("GET", "/probe/trickle", headers=public.headers) as response:
            if response.status_code != 200:
                yield skipped("HTTP streaming", f"the probe answers {response.status_code}")
                return
            for line in response.iter_lines():
                arrivals.record_piece(line)
    except (httpx.HTTPError, ValueError) as error:
        yield warning("HTTP streaming", reason(error), _REMEDY)
        return
    if arrivals.are_buffered:
        finding = (
            f"is buffered: a line arrived {arrivals.lateness:.1f} s late. Replies use the "
            "WebSocket, so they may be unaffected"
        )
        yield warning("HTTP streaming", finding, _REMEDY)
    else:
        yield ok("HTTP streaming", str(arrivals))
