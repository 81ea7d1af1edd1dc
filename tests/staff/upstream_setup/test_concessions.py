"""Lessons learned from refusals of models, and forgetting them."""

from typing import Any

import pytest
from django.test import Client

from chatapp.models import AuditEvent, Upstream
from chatapp.models.platform.lessons import ConcessionLesson
from chatapp.staff.upstream_setup.concessions import OF_USAGE_OPTION, WORDS
from chatapp.upstream.wire.requests.concessions import Concession
from tests.support.page import parse

pytestmark = pytest.mark.django_db

MODEL = "<b>odd"


@pytest.fixture
def upstream_with_lessons(team: Upstream) -> Upstream:
    Upstream.learn(team.pk, MODEL, map(ConcessionLesson, [Concession.TOOLS, Concession.SYSTEM]))
    Upstream.learn(team.pk, "other", [ConcessionLesson(Concession.PARTS)])
    Upstream.objects.filter(pk=team.pk).update(takes_usage_option=False)
    team.refresh_from_db()
    return team


def read_page_text(desk: Client, upstream: Upstream) -> str:
    return " ".join(parse(desk.get(f"/settings/models/{upstream.pk}/").text).text.split())


def forget(desk: Client, upstream: Upstream, **named: str) -> None:
    answer = desk.post(f"/settings/models/{upstream.pk}/concessions/", named)
    assert answer.headers["location"] == f"/settings/models/{upstream.pk}/"
    upstream.refresh_from_db()


def details() -> list[dict[str, Any]]:
    events = AuditEvent.objects.select_related("detail").filter(action="upstream.changed")
    return [event.detail.values for event in events.order_by("sequence")]


def test_there_are_words_for_each_concession() -> None:
    assert WORDS.keys() == set(Concession)


def test_what_was_learned_is_listed(desk: Client, upstream_with_lessons: Upstream) -> None:
    page = read_page_text(desk, upstream_with_lessons)
    assert f"{MODEL} refused tools, so none are offered to it, on" in page
    assert f"{MODEL} refused a system message" in page
    assert "other refused a list of parts" in page
    assert OF_USAGE_OPTION in page
    assert "Forget all of these" in page


def test_a_page_without_lessons_has_no_list(desk: Client, team: Upstream) -> None:
    assert "learned from refusals" not in read_page_text(desk, team)


def test_one_lesson_is_forgotten_and_recorded(
    desk: Client, upstream_with_lessons: Upstream
) -> None:
    for _ in range(2):
        forget(desk, upstream_with_lessons, model=MODEL, concession="tools")
    assert {model: [*made] for model, made in upstream_with_lessons.concessions_at.items()} == {
        MODEL: [Concession.SYSTEM],
        "other": [Concession.PARTS],
    }
    assert not upstream_with_lessons.takes_usage_option
    [detail] = details()
    assert detail["before"] == {"learned": [f"{MODEL} {WORDS[Concession.TOOLS]}"]}
    assert detail["after"] == {"learned": []}


def test_the_usage_option_is_asked_for_again(desk: Client, upstream_with_lessons: Upstream) -> None:
    forget(desk, upstream_with_lessons, concession="usage_option")
    assert upstream_with_lessons.takes_usage_option
    assert len(upstream_with_lessons.concessions_at) == 2
    [detail] = details()
    assert detail["before"] == {"learned": [OF_USAGE_OPTION]}


def test_everything_is_forgotten_at_once(desk: Client, upstream_with_lessons: Upstream) -> None:
    forget(desk, upstream_with_lessons)
    assert (upstream_with_lessons.takes_usage_option, upstream_with_lessons.concessions_at) == (
        True,
        {},
    )
    [detail] = details()
    assert len(detail["before"]["learned"]) == 4


@pytest.mark.parametrize("named", [{"model": MODEL}, {"model": "unknown", "concession": "tools"}])
def test_what_is_not_known_is_not_forgotten(
    desk: Client, upstream_with_lessons: Upstream, named: dict[str, str]
) -> None:
    forget(desk, upstream_with_lessons, **named)
    assert len(upstream_with_lessons.concessions_at[MODEL]) == 2
    assert not details()


def test_a_lesson_of_a_newer_version_is_kept_and_not_shown(desk: Client, team: Upstream) -> None:
    at = "2026-01-01T00:00:00+00:00"
    Upstream.objects.filter(pk=team.pk).update(model_concessions={"m": {"newer": at, "tools": at}})
    assert "newer" not in read_page_text(desk, team)
    forget(desk, team, model="m", concession="tools")
    assert team.model_concessions == {"m": {"newer": at}}
