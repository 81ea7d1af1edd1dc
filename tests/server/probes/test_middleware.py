"""Probes answer under any Host, and nothing else does."""

import pytest
from django.test import Client
from pytest_django import Settings

pytestmark = pytest.mark.django_db

ADDRESS = {"host": "10.1.2.3:8000"}


@pytest.fixture(autouse=True)
def behind_tls(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["chat.example.org"]
    settings.SECURE_SSL_REDIRECT = True


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/readyz", 200)])
def test_a_probe_answers_under_any_host(path: str, status: int) -> None:
    assert Client(headers=ADDRESS).get(path).status_code == status


def test_metrics_answer_under_any_host_but_need_the_token(settings: Settings) -> None:
    settings.CHATAPP_METRICS_TOKEN = "s3cret"
    client = Client(headers=ADDRESS)
    assert client.get("/metrics").status_code == 401
    token = {"Authorization": "Bearer s3cret"}
    assert client.get("/metrics", headers=token).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/healthz/", "/healthz/accounts/login/", "//healthz", "/c/healthz", "/readyz%2F"]
)
def test_nothing_else_answers_under_a_foreign_host(path: str) -> None:
    assert Client(headers=ADDRESS).get(path, secure=True).status_code == 400
