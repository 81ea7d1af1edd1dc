"""The metrics, for clients that send the token."""

import pytest
from django.test import AsyncClient
from pytest_django import Settings

from chatapp.server.probes import readiness
from tests.server.probes.away import Away

pytestmark = pytest.mark.django_db


async def test_metrics_do_not_exist_without_a_token_in_the_settings(
    anyone: AsyncClient, settings: Settings
) -> None:
    settings.CHATAPP_METRICS_TOKEN = ""
    answer = await anyone.get("/metrics", headers={"Authorization": "Bearer "})
    assert answer.status_code == 404


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer s3cre", "Basic s3cret", "s3cret", "ü"])
async def test_metrics_require_the_token(
    anyone: AsyncClient, settings: Settings, header: str
) -> None:
    settings.CHATAPP_METRICS_TOKEN = "s3cret"
    answer = await anyone.get("/metrics", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert b"chatapp_" not in answer.content


async def test_metrics_are_shown_to_clients_that_send_the_token(
    anyone: AsyncClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CHATAPP_METRICS_TOKEN = "s3cret"
    headers = {"Authorization": "Bearer s3cret"}
    answer = await anyone.get("/metrics", headers=headers)
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert {"chatapp_database_up 1.0", "chatapp_layer_up 1.0"} <= set(split_lines(answer.content))
    monkeypatch.setattr(readiness, "connection", Away())
    answer = await anyone.get("/metrics", headers=headers)
    assert "chatapp_database_up 0.0" in split_lines(answer.content)


def split_lines(metrics: bytes) -> list[str]:
    return metrics.decode().splitlines()
