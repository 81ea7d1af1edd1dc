"""Upstreams: encrypted keys, offered models, and the upstream from the environment."""

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from chatapp.models import ModelChoice, Refused, Upstream
from chatapp.models.platform.upstream_validators import validate_offered_models

pytestmark = pytest.mark.django_db


def test_an_upstreams_key_is_encrypted_at_rest(gateway: Upstream) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM chatapp_upstream")
        [(ciphertext,)] = cursor.fetchall()
    assert "sk-very-secret" not in str(ciphertext)
    assert Upstream.objects.get().api_key == "sk-very-secret"


def test_the_environments_upstream_replaces_one_with_another_name() -> None:
    Upstream.connect_environment("Demo", "http://127.0.0.1:1/v1", "one")
    Upstream.connect_environment("Default", "https://old/v1", "two")
    Upstream.connect_environment("Default", "https://gw/v1", "three")
    offered = Upstream.objects.get(enabled=True)
    assert (offered.name, offered.base_url, offered.api_key) == (
        "Default",
        "https://gw/v1",
        "three",
    )
    assert Upstream.objects.get(enabled=False).name == "Demo"


def test_the_environment_leaves_an_administrators_upstream_alone(gateway: Upstream) -> None:
    Upstream.connect_environment("Demo", "http://127.0.0.1:1/v1", "one")
    gateway.refresh_from_db()
    assert gateway.enabled
    assert gateway.base_url == "http://gw/v1"


def test_the_demo_is_enabled_if_nothing_else_is_or_if_it_was_switched_on(
    gateway: Upstream,
) -> None:
    demo = Upstream.objects.filter(name="Demo")
    for others_answer, before, after in (
        (True, None, False),
        (True, True, True),
        (True, False, False),
        (False, False, True),
    ):
        Upstream.objects.filter(pk=gateway.pk).update(enabled=others_answer)
        if before is not None:
            demo.update(enabled=before)
        Upstream.connect_environment("Demo", "http://127.0.0.1:1/v1", "one")
        assert demo.get().enabled is after


def test_an_upstream_offers_any_model_until_its_models_are_named(gateway: Upstream) -> None:
    assert Upstream.get_for_choice(ModelChoice(gateway.pk, "any"), 0) == gateway
    Upstream.objects.update(offered_models="one\ntwo")
    assert Upstream.get_for_choice(ModelChoice(gateway.pk, "two"), 0) == gateway
    for other in ("any", "tw", "one two", "TWO"):
        with pytest.raises(Refused, match="no longer available"):
            Upstream.get_for_choice(ModelChoice(gateway.pk, other), 0)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_disabled_or_deleted_upstream_offers_nothing(gateway: Upstream, is_there: bool) -> None:
    choice = ModelChoice(gateway.pk, "any")
    if is_there:
        Upstream.objects.update(enabled=False)
    else:
        gateway.delete()
    with pytest.raises(Refused, match="no longer available"):
        Upstream.get_for_choice(choice, 0)


def test_an_unreadable_key_is_reported(gateway: Upstream) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chatapp_upstream SET api_key = 'gAAAAunreadable'")
    with pytest.raises(Refused, match="SECRET_KEY has changed"):
        Upstream.get_for_choice(ModelChoice(gateway.pk, "any"), 0)


def test_an_id_that_cannot_be_stored_is_not_offered() -> None:
    validate_offered_models("x" * 200 + " = Long")
    with pytest.raises(ValidationError, match="longer than 200 characters"):
        validate_offered_models("m\n" + "x" * 201 + " = Long")
