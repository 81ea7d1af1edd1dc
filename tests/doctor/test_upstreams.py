"""Upstreams that list their models, and upstreams that don't."""

from cryptography.fernet import Fernet
from django.db import connection

from chatapp.checks.results import Status
from chatapp.doctor.upstreams import upstreams
from chatapp.models import Upstream
from tests.doctor import only
from tests.support.fake_upstream import FakeUpstream

KEY = "sk-very-secret"


def test_upstreams_are_only_asked_to_list_models(
    upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    result = only(upstreams(has_demo=False))
    assert (result.what, result.status) == ("Fake", Status.OK)
    assert result.finding.startswith("lists 1 models")
    assert upstream.chat_requests == []


def test_a_rejected_key_fails_and_is_not_shown(
    upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.fail_models(401, {"error": {"message": f"{KEY} is wrong"}})
    result = only(upstreams(has_demo=False))
    assert result.status is Status.FAILED
    assert (result.finding, result.quote) == ("It rejects the key", "401 *** is wrong")
    assert result.remedy.startswith("Enter the key again")


def test_an_unreachable_upstream_fails(saved_upstream: Upstream) -> None:
    Upstream.objects.update(base_url="http://127.0.0.1:9/v1")
    result = only(upstreams(has_demo=False))
    assert result.status is Status.FAILED
    assert result.finding == "It can't be reached"
    assert result.quote


def test_models_named_in_the_settings_replace_a_missing_list(
    upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.models = []
    assert only(upstreams(has_demo=False)).status is Status.WARNING
    Upstream.objects.update(offered_models="one")
    assert only(upstreams(has_demo=False)).status is Status.OK
    upstream.fail_models(404, {"error": {"message": "no such page"}})
    assert only(upstreams(has_demo=False)).status is Status.OK


def test_a_key_encrypted_with_another_secret_key_fails(
    upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    ciphertext = Fernet(Fernet.generate_key()).encrypt(KEY.encode()).decode()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chatapp_upstream SET api_key = %s", [ciphertext])
    result = only(upstreams(has_demo=False))
    assert result.status is Status.FAILED
    assert "SECRET_KEY" in result.remedy
    assert ciphertext not in result.finding + result.remedy
    assert upstream.requests == []


def test_no_upstream_is_warned_of_unless_the_demo_runs(db: None) -> None:
    assert only(upstreams(has_demo=False)).status is Status.WARNING
    assert only(upstreams(has_demo=True)).status is Status.SKIPPED


def test_the_demo_is_skipped(saved_upstream: Upstream) -> None:
    Upstream.objects.update(from_environment=True)
    assert only(upstreams(has_demo=True)).status is Status.SKIPPED
