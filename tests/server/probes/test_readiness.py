"""Liveness and readiness, whatever the process can't reach."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import AsyncClient, Client
from pytest_django import Settings

from chatapp.realtime.cluster import NullBus
from chatapp.realtime.worker import worker
from chatapp.server.probes import readiness
from tests.server.probes.away import Away, Hanging
from tests.support.present import present

pytestmark = pytest.mark.django_db


async def test_the_probes_answer_without_a_session(anyone: AsyncClient) -> None:
    assert (await anyone.get("/healthz")).content == b"ok"
    ready = await anyone.get("/readyz")
    assert ready.status_code == 200
    redis = True if settings.REDIS_URL else None
    parts = {"database": True, "redis": redis, "migrations": True, "draining": False}
    assert ready.json() == parts


def test_healthz_makes_no_queries(
    db: None, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    with django_assert_num_queries(0):
        assert Client(headers={"host": "localhost"}).get("/healthz").status_code == 200


async def test_without_its_database_it_is_alive_but_unready(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "connection", Away())
    assert (await anyone.get("/healthz")).status_code == 200
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["database"]) == (503, False)


async def test_a_database_that_hangs_does_not_hang_the_probe(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Hanging()
    monkeypatch.setattr(readiness, "MAX_WAIT", 0.05)
    monkeypatch.setattr(readiness, "connection", hanging)
    try:
        for _ in range(3):
            ready = await anyone.get("/readyz")
            assert (ready.status_code, ready.json()["database"]) == (503, False)
            assert not hanging.answers.is_set()
    finally:
        hanging.answers.set()
    monkeypatch.undo()
    assert (await anyone.get("/readyz")).status_code == 200


async def test_an_unapplied_migration_makes_it_unready(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "is_migrated", False)
    applied = MigrationRecorder.Migration.objects.filter(app="chatapp").order_by("-pk")
    last = present(await applied.afirst())
    await last.adelete()
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["migrations"]) == (503, False)
    last.pk = None
    await last.asave()
    await sync_to_async(MigrationRecorder(connection).record_applied)("chatapp", "9999_newer")
    try:
        assert (await anyone.get("/readyz")).json()["migrations"] is True
    finally:
        await applied.filter(name="9999_newer").adelete()


async def test_a_draining_server_is_unready(anyone: AsyncClient) -> None:
    worker().draining.has_begun = True
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["draining"]) == (503, True)


async def test_without_redis_it_is_unready_unless_redis_is_excluded(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9"
    monkeypatch.setattr(NullBus, "answers", False)
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["redis"]) == (503, False)
    ready = await anyone.get("/readyz?exclude=draining&exclude=redis")
    assert (ready.status_code, ready.json()["redis"]) == (200, False)
