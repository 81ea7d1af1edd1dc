"""Staff pages tell administrators which upstreams fail now, until these answer."""

import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import Upstream, UpstreamFailure, User
from chatapp.models.platform.calendar import get_day
from chatapp.staff.upstream_setup.failing import DISMISSED
from chatapp.upstream.wire.reply import Ending, Reply
from tests.conftest import signed_in
from tests.support.page import parse
from tests.support.stored import begin_turn, end, store_turn

pytestmark = pytest.mark.django_db


def fail(upstream: Upstream, kind: str, minutes: int) -> None:
    then = timezone.now() - timedelta(minutes=minutes)
    UpstreamFailure.objects.create(
        upstream=upstream, day=get_day(then), kind=kind, count=1, last_at=then
    )


def read_warnings(client: Client, path: str = "/people/groups/") -> list[str]:
    page = parse(client.get(path).text)
    return [" ".join(warning.text.split()) for warning in page.find_all(".failing")]


def test_an_upstream_that_fails_now_is_named_once(olive: User, saved_upstream: Upstream) -> None:
    assert read_warnings(signed_in(olive, confirmed=True)) == []
    fail(saved_upstream, "unreachable", minutes=50)
    fail(saved_upstream, "unauthorized", minutes=10)
    [words] = read_warnings(signed_in(olive, confirmed=True))
    assert words.startswith("Fake refused its key, most recently on")
    Upstream.objects.update(enabled=False)
    assert read_warnings(signed_in(olive, confirmed=True)) == []


def test_old_failures_and_those_of_one_request_are_not_shown(
    olive: User, saved_upstream: Upstream
) -> None:
    fail(saved_upstream, "unreachable", minutes=70)
    fail(saved_upstream, "bad_request", minutes=1)
    assert read_warnings(signed_in(olive, confirmed=True)) == []


def test_a_failure_before_the_key_was_entered_is_not_shown(
    olive: User, saved_upstream: Upstream
) -> None:
    olives = signed_in(olive, confirmed=True)
    fail(saved_upstream, "unauthorized", minutes=10)
    fields = {"name": "Fake", "base_url": saved_upstream.base_url}
    olives.post(f"/settings/models/{saved_upstream.pk}/address/", fields | {"name": "Renamed"})
    assert len(read_warnings(olives)) == 1
    olives.post(
        f"/settings/models/{saved_upstream.pk}/address/", fields | {"new_api_key": "sk-new"}
    )
    assert read_warnings(olives) == []
    UpstreamFailure.objects.update(last_at=timezone.now())
    assert len(read_warnings(olives)) == 1


def test_a_warning_ends_with_the_next_answer(
    olive: User, alice: User, saved_upstream: Upstream
) -> None:
    olives = signed_in(olive, confirmed=True)
    chat = alice.conversations.create(title="Sky")
    store_turn(chat, saved_upstream, "Before?")
    UpstreamFailure.count_failure(saved_upstream.pk, "unreachable")
    _, failed = begin_turn(chat, saved_upstream, "And now?")
    end(failed, Reply(), Ending.STOPPED)
    assert len(read_warnings(olives)) == 1
    store_turn(chat, saved_upstream, "And now?")
    assert read_warnings(olives) == []
    UpstreamFailure.count_failure(saved_upstream.pk, "unreachable")
    assert len(read_warnings(olives)) == 1


def test_a_warning_is_dismissed_for_an_hour_in_ones_own_session(
    olive: User, saved_upstream: Upstream
) -> None:
    fail(saved_upstream, "unreachable", minutes=1)
    olives, others = signed_in(olive, confirmed=True), signed_in(olive, confirmed=True)
    path = f"/settings/models/{saved_upstream.pk}/dismiss/"
    answer = olives.post(path, {"back": "/people/groups/?a=b"})
    assert answer.headers["location"] == "/people/groups/?a=b"
    assert read_warnings(olives) == []
    assert len(read_warnings(others)) == 1
    session = olives.session
    session[DISMISSED] = {str(saved_upstream.pk): time.time() - 3601}
    session.save()
    assert len(read_warnings(olives)) == 1


@pytest.mark.parametrize("back", ["", "https://elsewhere.test/", "//elsewhere.test/"])
def test_dismissing_leads_to_no_other_site(
    olive: User, saved_upstream: Upstream, back: str
) -> None:
    olives = signed_in(olive, confirmed=True)
    answer = olives.post(f"/settings/models/{saved_upstream.pk}/dismiss/", {"back": back})
    assert answer.headers["location"] == "/settings/models/"


def test_no_warning_stands_above_a_chat_under_review(
    olive: User, alice: User, saved_upstream: Upstream
) -> None:
    fail(saved_upstream, "unreachable", minutes=1)
    User.objects.filter(pk=olive.pk).update(reviews=True)
    chat = alice.conversations.create(title="Sky")
    olives = signed_in(olive, confirmed=True)
    assert read_warnings(olives, f"/review/{chat.pk}/") == []
    assert len(read_warnings(olives, "/review/")) == 1


def test_reviewers_are_not_told(saved_upstream: Upstream) -> None:
    fail(saved_upstream, "unreachable", minutes=1)
    rita = User.objects.create_user("rita", is_staff=True, reviews=True)
    assert read_warnings(signed_in(rita), "/review/") == []
