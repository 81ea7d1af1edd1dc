"""A worker without peers works like one with them."""

import asyncio
import time
from uuid import uuid4

import pytest

from chatapp.realtime.cluster import Cluster, HeartbeatReport, NullBus, NullHeartbeat
from chatapp.realtime.cluster.messages import PeopleChanged, TurnBegan
from chatapp.realtime.viewers import Viewers
from tests.realtime.viewers.doubles import Recorder


@pytest.fixture
def bus() -> NullBus:
    return NullBus(uuid4())


async def test_a_lone_bus_sends_and_receives_nothing(bus: NullBus) -> None:
    await bus.subscribe(7)
    bus.post(bus.worker, PeopleChanged(None))
    bus.post_to_all(PeopleChanged(None))
    bus.post_to_user(7, TurnBegan(uuid4()))
    bus.unsubscribe(7)
    assert [arrival async for arrival in bus.receive_messages()] == []
    await bus.until_sent()
    assert (bus.answers, bus.has_others) == (True, False)
    assert abs(bus.now() - time.monotonic()) < 1.0


async def test_a_lone_cluster_yields_no_events(bus: NullBus) -> None:
    viewers = Viewers()
    viewer, conversation = Recorder(), uuid4()
    viewers.add(viewer)
    viewers.show(viewer, conversation)
    cluster = Cluster(bus, viewers)
    running = asyncio.create_task(cluster.run())
    assert cluster.apply_report(HeartbeatReport(frozenset({uuid4()})), []) == []
    assert [event async for event in cluster.events()] == []
    assert cluster.remotes.for_viewer(viewer, conversation) == []
    running.cancel()
    await asyncio.wait([running])


async def test_an_unregistered_worker_was_never_given_up() -> None:
    heartbeat = NullHeartbeat()
    assert heartbeat.database_answers
    assert not heartbeat.was_given_up(since=0.0)
    assert [
        report async for report in heartbeat.reports(Cluster(NullBus(uuid4()), Viewers()))
    ] == []
    heartbeat.stop()
