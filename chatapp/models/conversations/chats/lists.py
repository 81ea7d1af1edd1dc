"""Pages of the lists of conversations, with only the fields that a row shows.

A page starts below, above or at a row, which is named by its time of use and its id. The id breaks
ties, so that no row is skipped or shown twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Case, Q, When

from chatapp.db.statements import Parameter, Query
from chatapp.models.accounts.audiences import is_for
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation, ConversationQuerySet
from chatapp.models.conversations.chats.folders import MAX_PINNED
from chatapp.models.conversations.chats.projects import MAX_PROJECTS, Project, ProjectMember
from chatapp.models.conversations.messages.messages import Message

PAGE = 60
MAX_SHARED = 100  # projects of others in the sidebar
ROW = ("user", "title", "updated_at", "is_pinned", "is_unread", "project", "trashed_at")

if TYPE_CHECKING:

    class Row(Conversation):
        is_running: bool

else:
    Row = Conversation


@dataclass(frozen=True)
class ListPosition:
    """The position of a row in a list: its time of use and its id."""

    used: datetime
    pk: UUID


@dataclass(frozen=True)
class Page:
    """Rows in order, and whether the list continues above and below them."""

    rows: list[Row]
    has_newer: bool = False
    has_older: bool = False


def first_page(user: User) -> Page:
    """Return the first page of the person's own list.

    Every chat page shows it, so it uses a prepared statement.
    """
    return _build_first_page(_FIRST.all(user.pk, False), PAGE)


def next_page(user: User, position: ListPosition) -> Page:
    """Return the page below a row of the same list."""
    return _build_older_page(_BELOW.all(user.pk, False, position.used, position.pk))


def previous_page(user: User, position: ListPosition) -> Page:
    return _build_newer_page(_ABOVE.all(user.pk, False, position.used, position.pk))


def load_pinned(user: User) -> list[Row]:
    return _PINNED.all(user.pk, True)


def page_from_top(folder: ConversationQuerySet, rows: int = PAGE) -> Page:
    return _build_first_page(list(_as_rows(folder)[: rows + 1]), rows)


def page_below(folder: ConversationQuerySet, position: ListPosition) -> Page:
    return _build_older_page(list(_as_rows(folder.after(position.used, position.pk))[: PAGE + 1]))


def page_above(folder: ConversationQuerySet, position: ListPosition) -> Page:
    return _build_newer_page(list(_as_rows(folder.since(position.used, position.pk))[: PAGE + 1]))


def page_with(folder: ConversationQuerySet, position: ListPosition, rows: int) -> Page:
    """Return a page of so many rows, starting with the one at `position`."""
    is_above = folder.since(position.used, position.pk).exists()
    older = folder.filter(updated_at__lte=position.used)
    page = page_from_top(older.exclude(updated_at=position.used, pk__gt=position.pk), rows)
    return Page(page.rows, is_above, page.has_older)


def projects(user: User) -> list[Project]:
    """Return their own projects and those shared with them, with `is_own` and `lets_add`."""
    return _PROJECTS.all(user.pk)


def _build_older_page(rows: list[Row]) -> Page:
    return Page(rows[:PAGE], True, len(rows) > PAGE)


def _build_newer_page(nearest: list[Row]) -> Page:
    return Page(nearest[:PAGE][::-1], len(nearest) > PAGE, True)


def _build_first_page(candidates: list[Row], rows: int) -> Page:
    return Page(candidates[:rows], False, len(candidates) > rows)


def _as_rows(conversations: ConversationQuerySet) -> "models.QuerySet[Row]":
    streaming = Message.objects.streaming().filter(conversation=models.OuterRef("pk"))
    return cast(
        "models.QuerySet[Row]",
        conversations.only(*ROW).annotate(is_running=models.Exists(streaming)),
    )


def _build_row_query(rows: int) -> Callable[[Parameter, Parameter], "models.QuerySet[Row]"]:
    return lambda user, pinned: _as_rows(_without_project(user, pinned))[:rows]


def _below(
    user: Parameter, pinned: Parameter, used: Parameter, pk: Parameter
) -> "models.QuerySet[Row]":
    return _as_rows(_without_project(user, pinned).after(used, pk))[: PAGE + 1]


def _above(
    user: Parameter, pinned: Parameter, used: Parameter, pk: Parameter
) -> "models.QuerySet[Row]":
    return _as_rows(_without_project(user, pinned).since(used, pk))[: PAGE + 1]


def _without_project(user: Parameter, pinned: Parameter) -> ConversationQuerySet:
    return Conversation.objects.without_project().filter(user=user, is_pinned=pinned)


_IS_PINNED = Conversation._meta.get_field("is_pinned")
_USED = Conversation._meta.get_field("updated_at")
_LIST_FIELDS = (User._meta.pk, _IS_PINNED)
_POSITION_FIELDS = (*_LIST_FIELDS, _USED, Conversation._meta.pk)

_FIRST = Query(_build_row_query(PAGE + 1), *_LIST_FIELDS)
_PINNED = Query(_build_row_query(MAX_PINNED), *_LIST_FIELDS)
_BELOW = Query(_below, *_POSITION_FIELDS)
_ABOVE = Query(_above, *_POSITION_FIELDS)


def _projects(user: Any) -> "models.QuerySet[Project]":
    """Their own come first, so that those that others share never crowd them out."""
    own = Project.objects.filter(user=user).order_by()
    of_groups = Group.objects.filter(user=user)
    # A union, because PostgreSQL would read both tables as a whole for an OR.
    whose = (Q(person=user), Q(group__in=of_groups), Q(person=None, group=None))
    shared = (ProjectMember.objects.filter(condition).values("target") for condition in whose)
    keys = own.values("pk").union(*shared, all=True)
    visible: Any = Project.objects.filter(pk__in=keys)
    entries = ProjectMember.objects.filter(is_for(user), target=models.OuterRef("pk"))
    is_own = Case(When(user=user, then=True), default=False, output_field=models.BooleanField())
    lets_add = models.Exists(entries.filter(may_add=True))
    visible = visible.annotate(is_own=is_own, lets_add=lets_add).only("name")
    ordered: models.QuerySet[Project] = visible.order_by("-is_own", "name", "id")
    return ordered[: MAX_PROJECTS + MAX_SHARED]


_PROJECTS = Query(_projects, User._meta.pk)
