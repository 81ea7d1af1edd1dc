"""The single worker of a process, and events from processes without one."""

import asyncio
from uuid import uuid4

import pytest
from channels.layers import InMemoryChannelLayer
from pytest_django import Settings

from chatapp.realtime.cluster import layer as layer_module
from chatapp.realtime.cluster.messages import PeopleChanged, decode
from chatapp.realtime.worker import recheck_access, shut_down, worker


async def test_a_process_has_one_worker_until_shutdown(generations_end: None) -> None:
    first = worker()
    assert worker() is first
    assert first.database_answers
    assert first.cluster.bus.answers
    await shut_down(0)
    await shut_down(0)  # no worker is left: does nothing
    assert worker() is not first


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> InMemoryChannelLayer:
    settings.REDIS_URL = "redis://127.0.0.1:9"
    layer = InMemoryChannelLayer()
    monkeypatch.setattr(layer_module, "get_channel_layer", lambda: layer)
    return layer


def test_a_command_makes_all_workers_recheck_people(layer: InMemoryChannelLayer) -> None:
    channel = asyncio.run(join_everybody(layer))
    recheck_access([7])
    received = asyncio.run(layer.receive(channel))
    assert decode(received["batch"])[0].messages == [PeopleChanged(frozenset({7}))]


async def test_without_a_worker_nothing_is_sent_from_inside_an_event_loop(
    layer: InMemoryChannelLayer,
) -> None:
    channel = await join_everybody(layer)
    recheck_access(None)
    assert layer.channels.get(channel) is None or layer.channels[channel].empty()


async def join_everybody(layer: InMemoryChannelLayer) -> str:
    channel = f"bus!{uuid4().hex}"
    await layer.group_add(layer_module.EVERYBODY, channel)
    return channel
