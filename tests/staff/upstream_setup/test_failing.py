"""Staff pages tell administrators which upstreams fail now."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import Upstream, UpstreamFailure, User
from chatapp.models.platform.calendar import day_of
from tests.conftest import signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db


def fail(upstream: Upstream, kind: str, minutes: int) -> None:
    then = timezone.now() - timedelta(minutes=minutes)
    UpstreamFailure.objects.create(
        upstream=upstream, day=day_of(then), kind=kind, count=1, last_at=then
    )


def told(client: Client, path: str = "/people/groups/") -> list[str]:
    page = parse(client.get(path).text)
    return [" ".join(one.text.split()) for one in page.find_all(".failing")]


def test_an_upstream_that_fails_now_is_named_once(olive: User, connected: Upstream) -> None:
    assert told(signed_in(olive, confirmed=True)) == []
    fail(connected, "unreachable", minutes=50)
    fail(connected, "unauthorized", minutes=10)
    [words] = told(signed_in(olive, confirmed=True))
    assert words.startswith("Fake refused its key, most recently on")
    Upstream.objects.update(enabled=False)
    assert told(signed_in(olive, confirmed=True)) == []


def test_old_failures_and_those_of_one_request_are_not_shown(
    olive: User, connected: Upstream
) -> None:
    fail(connected, "unreachable", minutes=70)
    fail(connected, "bad_request", minutes=1)
    assert told(signed_in(olive, confirmed=True)) == []


def test_a_failure_before_the_key_was_entered_is_not_shown(
    olive: User, connected: Upstream
) -> None:
    olives = signed_in(olive, confirmed=True)
    fail(connected, "unauthorized", minutes=10)
    fields = {"name": "Fake", "base_url": connected.base_url}
    olives.post(f"/settings/models/{connected.pk}/address/", fields | {"name": "Renamed"})
    assert len(told(olives)) == 1
    olives.post(f"/settings/models/{connected.pk}/address/", fields | {"new_api_key": "sk-new"})
    assert told(olives) == []
    UpstreamFailure.objects.update(last_at=timezone.now())
    assert len(told(olives)) == 1


def test_reviewers_are_not_told(connected: Upstream) -> None:
    fail(connected, "unreachable", minutes=1)
    rita = User.objects.create_user("rita", is_staff=True, reviews=True)
    assert told(signed_in(rita), "/review/") == []
