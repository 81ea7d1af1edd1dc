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
from chatapp.models.conversations.chats import lists
from chatapp.models.conversations.chats.lists import ListPosition, Page
from tests.support.profile import choose_size

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


@settings(max_examples=choose_size(10, 50), suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(0, 3), max_size=17))
def test_every_row_is_on_one_page_down_and_up_again(carol: User, moments: list[int]) -> None:
    Conversation.objects.all().delete()
    expected_ids = give(carol, moments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "PAGE", 4)
        folder = carol.conversations.without_project()
        page = lists.page_from_top(folder, 4)
        row_ids = ids(page)
        while page.has_older:
            page = lists.page_below(folder, place(page, -1))
            row_ids += ids(page)
        assert row_ids == expected_ids
        row_ids = ids(page)
        while page.rows and (page := lists.page_above(folder, place(page, 0))).rows:
            assert page.has_newer == (ids(page)[0] != expected_ids[0])
            row_ids = ids(page) + row_ids
        assert row_ids == expected_ids


def test_the_prepared_statements_return_the_same_pages(carol: User) -> None:
    expected_ids = give(carol, [minute // 3 for minute in range(200)])
    first = lists.first_page(carol)
    second = lists.next_page(carol, place(first, -1))
    assert ids(first) + ids(second) == expected_ids[:120]
    assert (first.has_older, second.has_older) == (True, True)
    assert ids(lists.previous_page(carol, place(second, 0))) == ids(first)
    window = lists.page_with(carol.conversations.without_project(), place(second, 5), 100)
    assert ids(window) == expected_ids[65:165]
    assert (window.has_newer, window.has_older) == (True, True)


def test_each_list_contains_only_its_own_conversations(carol: User) -> None:
    project = carol.projects.create(name="P")
    folders = {
        "without_project": give_one(carol),
        "archived": give_one(carol, archived_at=NOW),
        "trashed": give_one(carol, trashed_at=NOW, archived_at=NOW),
        "filed": give_one(carol, project=project),
    }
    give_one(carol, is_temporary=True)
    own = carol.conversations
    rows_by_folder = {
        "without_project": own.without_project(),
        "archived": own.archived(),
        "trashed": own.trashed(),
        "filed": own.in_project(project.pk),
    }
    assert {name: rows.get().pk for name, rows in rows_by_folder.items()} == folders
    assert own.not_trashed().count() == 4
    pinned = give_one(carol, is_pinned=True)
    assert [row.pk for row in lists.load_pinned(carol)] == [pinned]
    assert ids(lists.first_page(carol)) == [folders["without_project"]]


def give_one(carol: User, **fields: object) -> UUID:
    pk: UUID = carol.conversations.create(title="One", **fields).pk
    return pk


@pytest.mark.parametrize("folder", ["without_project", "archived", "trashed"])
def test_an_index_returns_the_page_in_order(carol: User, folder: str) -> None:
    rows = getattr(carol.conversations, folder)().filter(updated_at__lte=NOW)
    if folder == "without_project":
        rows = rows.filter(is_pinned__in=[False])
    if connection.vendor == "sqlite":  # PostgreSQL's plan depends on the number of rows
        name = {"without_project": "listed"}.get(folder, folder)
        plan = rows[:61].explain()
        assert f"USING INDEX conversation_{name}" in plan
        assert "B-TREE" not in plan


def test_the_sidebar_takes_three_statements(carol: User) -> None:
    give(carol, [1] * 70)
    with CaptureQueriesContext(connection) as queries:
        lists.first_page(carol)
        lists.load_pinned(carol)
        lists.projects(carol)
    assert len(queries) == 3
