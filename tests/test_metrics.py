"""The metrics of the process."""

import asyncio
import time

import pytest
from prometheus_client import REGISTRY

from chatapp import metrics
from chatapp.realtime.generation.flush_rate import SAMPLE_SECONDS, FlushRate


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_tokens_are_counted_by_upstream_kind_and_provenance() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "cached_tokens": None, "audio_tokens": 5}
    for _ in range(2):
        metrics.count_tokens("Counting", usage, "estimated")
    counted = {
        (sample.labels["kind"], sample.labels["provenance"]): sample.value
        for metric in metrics.tokens.collect()
        for sample in metric.samples
        if sample.labels["upstream"] == "Counting"
    }
    assert counted == {("prompt", "estimated"): 40, ("completion", "estimated"): 20}


@pytest.mark.parametrize("reason", ["join", "gap"])
def test_snapshot_series_exist_before_the_first_count(reason: str) -> None:
    assert REGISTRY.get_sample_value("chatapp_snapshots_total", {"reason": reason}) is not None


def test_every_name_has_the_apps_prefix_and_a_unit() -> None:
    families = [
        metric
        for name, collector in vars(metrics).items()
        if hasattr(collector, "collect") and not isinstance(collector, type)
        for metric in collector.collect()
    ]
    assert len(families) == 15
    for metric in families:
        assert metric.name.startswith("chatapp_")
        assert metric.documentation.endswith(".")
        assert metric.type != "histogram" or metric.name.endswith("_seconds")


def test_noted_values_are_counted_at_a_scrape() -> None:
    name = "chatapp_added_latency_seconds_count"
    before = value(name)
    for number in (3, metrics.MAX_PENDING_VALUES, metrics.MAX_PENDING_VALUES + 1):
        for _ in range(number):
            metrics.added_latency.note(0.001)
        before += number
        assert value(name) == value(name) == before


async def test_event_loop_lag_is_measured() -> None:
    before = value("chatapp_event_loop_lag_seconds_sum")
    watching = asyncio.create_task(FlushRate().watch())
    await asyncio.sleep(SAMPLE_SECONDS / 2)
    time.sleep(SAMPLE_SECONDS)  # noqa: ASYNC251 - the lag to be measured
    await asyncio.sleep(SAMPLE_SECONDS / 2)
    watching.cancel()
    assert value("chatapp_event_loop_lag_seconds_sum") - before >= SAMPLE_SECONDS / 2 - 0.01
