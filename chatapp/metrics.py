"""What this process counts for Prometheus; `/metrics` shows it.

Times are in seconds, and `upstream` is an upstream's name, the only label that grows. Every process
has counts of its own, so each is to be scraped. Observing takes a microsecond or two.

Imports no other module of the app.
"""

from collections.abc import Iterable, Mapping

from prometheus_client import Counter, Gauge, Histogram, Metric, disable_created_metrics

# They would be a second series for each.
disable_created_metrics()  # type: ignore[no-untyped-call]

QUICK = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0)
NOTED_AT_ONCE = 1000
PATIENT = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 6.0, 12.0, 25.0, 60.0, 120.0)


class OftenObserved(Histogram):
    """For each token. What is observed is noted first, and counted a thousand at a time or when
    somebody looks, which takes a third of the time."""

    def _metric_init(self) -> None:
        super()._metric_init()
        self._noted: list[float] = []

    def note(self, amount: float) -> None:
        self._noted.append(amount)
        if len(self._noted) >= NOTED_AT_ONCE:
            self._count()

    def collect(self) -> Iterable[Metric]:
        self._count()
        return super().collect()

    def _count(self) -> None:
        noted, self._noted = self._noted, []
        for amount in noted:
            self.observe(amount)


replies_running = Gauge("chatapp_replies_running", "Replies that this process is writing.")
unread_sockets = Counter(
    "chatapp_unread_sockets", "Sockets that were aborted, since their clients did not read."
)
viewers = Gauge("chatapp_viewers", "Browser tabs whose socket this process holds.")

time_to_first_token = Histogram(
    "chatapp_time_to_first_token_seconds",
    "From the start of a reply to the first text of its model.",
    ["upstream"],
    buckets=PATIENT,
)
added_latency = OftenObserved(
    "chatapp_added_latency_seconds",
    "From reading a token off the upstream's connection to handing its frame to the sockets.",
    buckets=QUICK,
)
cancel_time = Histogram(
    "chatapp_cancel_seconds",
    "From the decision to end a reply, by Stop or a last tab's close, to its upstream's close.",
    buckets=QUICK,
)
event_loop_lag = Histogram(
    "chatapp_event_loop_lag_seconds",
    "How late the event loop wakes a timer, sampled while replies run.",
    buckets=QUICK,
)

tokens = Counter(
    "chatapp_tokens",
    "Tokens that ended replies cost; cached ones are prompt, reasoning ones completion tokens too.",
    ["upstream", "kind", "provenance"],
)
endings = Counter("chatapp_endings", "Replies that ended, by why.", ["upstream", "ending"])
orphans = Counter(
    "chatapp_orphans_interrupted", "Replies of dead processes that this one marked interrupted."
)
snapshots = Counter(
    "chatapp_snapshots",
    "Replies drawn anew in a tab: it joined late, or missed frames.",
    ["reason"],
)
for reason in ("join", "gap"):
    snapshots.labels(reason)  # a series that is there before its first count shows its increase

database_up = Gauge("chatapp_database_up", "1 where the database answers, 0 where it does not.")
layer_up = Gauge("chatapp_layer_up", "The same of Redis; 1 where this process needs none.")

TOKEN_KINDS = ("prompt", "completion", "reasoning", "cached")


def count_tokens(upstream: str, usage: Mapping[str, int | None], provenance: str) -> None:
    """Counts what a reply cost, of `{kind}_tokens` each that is known."""
    for kind in TOKEN_KINDS:
        if count := usage.get(f"{kind}_tokens"):
            tokens.labels(upstream, kind, provenance).inc(count)
