"""Staff pages tell administrators which upstreams fail now, until these answer."""

import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import Upstream, UpstreamFailure, User
from chatapp.models.platform.calendar import day_of
from chatapp.staff.upstream_setup.failing import DISMISSED
from chatapp.upstream.wire.reply import Ending, Reply
from tests.conftest import signed_in
from tests.support.page import parse
from tests.support.stored import answered, asked, end

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


def test_a_warning_ends_with_the_next_answer(olive: User, alice: User, connected: Upstream) -> None:
    olives = signed_in(olive, confirmed=True)
    chat = alice.conversations.create(title="Sky")
    answered(chat, connected, "Before?")
    UpstreamFailure.count_one(connected.pk, "unreachable")
    _, failed = asked(chat, connected, "And now?")
    end(failed, Reply(), Ending.STOPPED)
    assert len(told(olives)) == 1
    answered(chat, connected, "And now?")
    assert told(olives) == []
    UpstreamFailure.count_one(connected.pk, "unreachable")
    assert len(told(olives)) == 1


def test_a_warning_is_dismissed_for_an_hour_in_ones_own_session(
    olive: User, connected: Upstream
) -> None:
    fail(connected, "unreachable", minutes=1)
    olives, others = signed_in(olive, confirmed=True), signed_in(olive, confirmed=True)
    path = f"/settings/models/{connected.pk}/dismiss/"
    answer = olives.post(path, {"back": "/people/groups/?a=b"})
    assert answer.headers["location"] == "/people/groups/?a=b"
    assert told(olives) == []
    assert len(told(others)) == 1
    session = olives.session
    session[DISMISSED] = {str(connected.pk): time.time() - 3601}
    session.save()
    assert len(told(olives)) == 1


@pytest.mark.parametrize("back", ["", "https://elsewhere.test/", "//elsewhere.test/"])
def test_dismissing_leads_to_no_other_site(olive: User, connected: Upstream, back: str) -> None:
    olives = signed_in(olive, confirmed=True)
    answer = olives.post(f"/settings/models/{connected.pk}/dismiss/", {"back": back})
    assert answer.headers["location"] == "/settings/models/"


def test_no_warning_stands_above_a_chat_under_review(
    olive: User, alice: User, connected: Upstream
) -> None:
    fail(connected, "unreachable", minutes=1)
    User.objects.filter(pk=olive.pk).update(reviews=True)
    chat = alice.conversations.create(title="Sky")
    olives = signed_in(olive, confirmed=True)
    assert told(olives, f"/review/{chat.pk}/") == []
    assert len(told(olives, "/review/")) == 1


def test_reviewers_are_not_told(connected: Upstream) -> None:
    fail(connected, "unreachable", minutes=1)
    rita = User.objects.create_user("rita", is_staff=True, reviews=True)
    assert told(signed_in(rita), "/review/") == []
