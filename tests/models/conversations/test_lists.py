"""Pages of a list show each row once, in both directions, even when times are equal."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatapp.models import Conversation, User
from chatapp.models.conversations import lists
from chatapp.models.conversations.lists import ListPosition, Page
from tests.support.profile import scaled

NOW = timezone.now()


def give(carol: User, moments: list[int], **fields: object) -> list[UUID]:
    """Create conversations last used so many minutes ago; return their ids in list order."""
    Conversation.objects.bulk_create(
        Conversation(user=carol, title="C", updated_at=NOW - timedelta(minutes=ago), **fields)
        for ago in moments
    )
    return list(carol.conversations.values_list("pk", flat=True))


def ids(page: Page) -> list[UUID]:
    return [row.pk for row in page.rows]


def place(page: Page, at: int) -> ListPosition:
    return ListPosition(page.rows[at].updated_at, page.rows[at].pk)


@settings(max_examples=scaled(10, 50), suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, 3), max_size=17))
def test_every_row_is_on_one_page_down_and_up_again(carol: User, moments: list[int]) -> None:
    Conversation.objects.all().delete()
    wanted = give(carol, moments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "PAGE", 4)
        folder = carol.conversations.loose()
        page = lists.page_from_top(folder, 4)
        found = ids(page)
        while page.has_older:
            page = lists.page_below(folder, place(page, -1))
            found += ids(page)
        assert found == wanted
        found = ids(page)
        while page.rows and (page := lists.page_above(folder, place(page, 0))).rows:
            assert page.has_newer == (ids(page)[0] != wanted[0])
            found = ids(page) + found
        assert found == wanted


def test_the_prepared_statements_return_the_same_pages(carol: User) -> None:
    wanted = give(carol, [minute // 3 for minute in range(200)])
    first = lists.first_page(carol)
    second = lists.next_page(carol, place(first, -1))
    assert ids(first) + ids(second) == wanted[:120]
    assert (first.has_older, second.has_older) == (True, True)
    assert ids(lists.previous_page(carol, place(second, 0))) == ids(first)
    window = lists.page_with(carol.conversations.loose(), place(second, 5), 100)
    assert ids(window) == wanted[65:165]
    assert (window.has_newer, window.has_older) == (True, True)


def test_each_list_contains_only_its_own_conversations(carol: User) -> None:
    project = carol.projects.create(name="P")
    folders = {
        "loose": give_one(carol),
        "archived": give_one(carol, archived_at=NOW),
        "trashed": give_one(carol, trashed_at=NOW, archived_at=NOW),
        "filed": give_one(carol, project=project),
    }
    give_one(carol, is_temporary=True)
    own = carol.conversations
    found = {
        "loose": own.loose(),
        "archived": own.archived(),
        "trashed": own.trashed(),
        "filed": own.filed(project.pk),
    }
    assert {name: one.get().pk for name, one in found.items()} == folders
    assert own.kept().count() == 4
    pinned = give_one(carol, is_pinned=True)
    assert [row.pk for row in lists.pinned(carol)] == [pinned]
    assert ids(lists.first_page(carol)) == [folders["loose"]]


def give_one(carol: User, **fields: object) -> UUID:
    pk: UUID = carol.conversations.create(title="One", **fields).pk
    return pk


@pytest.mark.parametrize("folder", ["loose", "archived", "trashed"])
def test_an_index_returns_the_page_in_order(carol: User, folder: str) -> None:
    found = getattr(carol.conversations, folder)().filter(updated_at__lte=NOW)
    if folder == "loose":
        found = found.filter(is_pinned__in=[False])
    if connection.vendor == "sqlite":  # PostgreSQL's plan depends on the number of rows
        name = {"loose": "listed"}.get(folder, folder)
        plan = found[:61].explain()
        assert f"USING INDEX conversation_{name}" in plan
        assert "B-TREE" not in plan


def test_the_sidebar_takes_three_statements(carol: User) -> None:
    give(carol, [1] * 70)
    with CaptureQueriesContext(connection) as queries:
        lists.first_page(carol)
        lists.pinned(carol)
        lists.projects(carol)
    assert len(queries) == 3
