"""The Prometheus metrics of this process, served at `/metrics`.

Times are in seconds. The label `upstream` is an upstream's name and the only one that grows. Every
process has counts of its own and must be scraped. Observing a value takes a microsecond or two.

Imports no other module of the app.
"""

from collections.abc import Iterable, Mapping

from prometheus_client import Counter, Gauge, Histogram, Metric, disable_created_metrics

# They would double the number of series.
disable_created_metrics()  # type: ignore[no-untyped-call]

SHORT_BUCKETS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0)
MAX_PENDING_VALUES = 1000
LONG_BUCKETS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 6.0, 12.0, 25.0, 60.0, 120.0)


class FrequentHistogram(Histogram):
    """A histogram for values observed with each token.

    Values are noted first and counted a thousand at a time or at a scrape, which takes a third of
    the time.
    """

    def _metric_init(self) -> None:
        super()._metric_init()
        self._pending_values: list[float] = []

    def note(self, amount: float) -> None:
        self._pending_values.append(amount)
        if len(self._pending_values) >= MAX_PENDING_VALUES:
            self._count()

    def collect(self) -> Iterable[Metric]:
        self._count()
        return super().collect()

    def _count(self) -> None:
        pending_values, self._pending_values = self._pending_values, []
        for amount in pending_values:
            self.observe(amount)


replies_running = Gauge("chatapp_replies_running", "Replies running in this process.")
unread_sockets = Counter(
    "chatapp_unread_sockets", "Sockets aborted because their clients did not read."
)
viewers = Gauge("chatapp_viewers", "Browser tabs connected to this process.")
readers = Gauge("chatapp_readers", "Tabs that read live shared chats in this process.")

time_to_first_token = Histogram(
    "chatapp_time_to_first_token_seconds",
    "From the start of a reply to the first text from the model.",
    ["upstream"],
    buckets=LONG_BUCKETS,
)
added_latency = FrequentHistogram(
    "chatapp_added_latency_seconds",
    "From reading a token from the upstream's connection to handing it to the sockets.",
    buckets=SHORT_BUCKETS,
)
cancel_time = Histogram(
    "chatapp_cancel_seconds",
    "From the decision to end a reply (Stop, last tab closed) to closing the upstream request.",
    buckets=SHORT_BUCKETS,
)
event_loop_lag = Histogram(
    "chatapp_event_loop_lag_seconds",
    "How late the event loop runs a timer, sampled while replies run.",
    buckets=SHORT_BUCKETS,
)

tokens = Counter(
    "chatapp_tokens",
    "Tokens used by ended replies; cached also count as prompt, reasoning as completion tokens.",
    ["upstream", "kind", "provenance"],
)
endings = Counter("chatapp_endings", "Ended replies, by ending.", ["upstream", "ending"])
fallbacks = Counter(
    "chatapp_fallbacks",
    "Replies that another model was asked for after one had failed.",
    ["upstream", "fallback_upstream"],
)
orphans = Counter("chatapp_orphans_interrupted", "Replies of dead processes that this one ended.")
snapshots = Counter(
    "chatapp_snapshots",
    "Replies redrawn in a tab because it joined late or missed frames.",
    ["reason"],
)
for reason in ("join", "gap"):
    snapshots.labels(reason)  # so that the series exists before its first increase

database_up = Gauge("chatapp_database_up", "1 if the database answers, else 0.")
layer_up = Gauge("chatapp_layer_up", "1 if Redis answers or is not used, else 0.")

TOKEN_KINDS = ("prompt", "completion", "reasoning", "cached")


def count_tokens(upstream: str, usage: Mapping[str, int | None], provenance: str) -> None:
    """Count the tokens a reply used, for each known `{kind}_tokens` in `usage`."""
    for kind in TOKEN_KINDS:
        if count := usage.get(f"{kind}_tokens"):
            tokens.labels(upstream, kind, provenance).inc(count)
