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
from chatapp.models.conversations.conversation import Conversation, ConversationQuerySet
from chatapp.models.conversations.folders import MAX_PINNED
from chatapp.models.conversations.messages import Message
from chatapp.models.conversations.projects import MAX_PROJECTS, Project, ProjectMember

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
    return _beginning(_FIRST.all(user.pk, False), PAGE)


def next_page(user: User, position: ListPosition) -> Page:
    """Return the page below a row of the same list."""
    return _after(_BELOW.all(user.pk, False, position.used, position.pk))


def previous_page(user: User, position: ListPosition) -> Page:
    return _before(_ABOVE.all(user.pk, False, position.used, position.pk))


def pinned(user: User) -> list[Row]:
    return _PINNED.all(user.pk, True)


def page_from_top(folder: ConversationQuerySet, rows: int = PAGE) -> Page:
    return _beginning(list(_as_rows(folder)[: rows + 1]), rows)


def page_below(folder: ConversationQuerySet, position: ListPosition) -> Page:
    return _after(list(_as_rows(folder.after(position.used, position.pk))[: PAGE + 1]))


def page_above(folder: ConversationQuerySet, position: ListPosition) -> Page:
    return _before(list(_as_rows(folder.since(position.used, position.pk))[: PAGE + 1]))


def page_with(folder: ConversationQuerySet, position: ListPosition, rows: int) -> Page:
    """Return a page of so many rows, starting with the one at `position`."""
    is_above = folder.since(position.used, position.pk).exists()
    rest = folder.filter(updated_at__lte=position.used)
    found = page_from_top(rest.exclude(updated_at=position.used, pk__gt=position.pk), rows)
    return Page(found.rows, is_above, found.has_older)


def projects(user: User) -> list[Project]:
    """Return their own projects and those shared with them, with `is_own` and `lets_add`."""
    return _PROJECTS.all(user.pk)


def _after(found: list[Row]) -> Page:
    return Page(found[:PAGE], True, len(found) > PAGE)


def _before(nearest: list[Row]) -> Page:
    return Page(nearest[:PAGE][::-1], len(nearest) > PAGE, True)


def _beginning(found: list[Row], rows: int) -> Page:
    return Page(found[:rows], False, len(found) > rows)


def _as_rows(found: ConversationQuerySet) -> "models.QuerySet[Row]":
    streaming = Message.objects.streaming().filter(conversation=models.OuterRef("pk"))
    return cast(
        "models.QuerySet[Row]", found.only(*ROW).annotate(is_running=models.Exists(streaming))
    )


def _listed(rows: int) -> Callable[[Parameter, Parameter], "models.QuerySet[Row]"]:
    return lambda user, pinned: _as_rows(_loose(user, pinned))[:rows]


def _below(
    user: Parameter, pinned: Parameter, used: Parameter, pk: Parameter
) -> "models.QuerySet[Row]":
    return _as_rows(_loose(user, pinned).after(used, pk))[: PAGE + 1]


def _above(
    user: Parameter, pinned: Parameter, used: Parameter, pk: Parameter
) -> "models.QuerySet[Row]":
    return _as_rows(_loose(user, pinned).since(used, pk))[: PAGE + 1]


def _loose(user: Parameter, pinned: Parameter) -> ConversationQuerySet:
    return Conversation.objects.loose().filter(user=user, is_pinned=pinned)


_IS_PINNED = Conversation._meta.get_field("is_pinned")
_USED = Conversation._meta.get_field("updated_at")
_WHOSE = (User._meta.pk, _IS_PINNED)
_WHERE = (*_WHOSE, _USED, Conversation._meta.pk)

_FIRST = Query(_listed(PAGE + 1), *_WHOSE)
_PINNED = Query(_listed(MAX_PINNED), *_WHOSE)
_BELOW = Query(_below, *_WHERE)
_ABOVE = Query(_above, *_WHERE)


def _projects(user: Any) -> "models.QuerySet[Project]":
    """Their own come first, so that those that others share never crowd them out."""
    own = Project.objects.filter(user=user).order_by()
    of_groups = Group.objects.filter(user=user)
    # A union, because PostgreSQL would read both tables as a whole for an OR.
    whose = (Q(person=user), Q(group__in=of_groups), Q(person=None, group=None))
    shared = (ProjectMember.objects.filter(one).values("target") for one in whose)
    keys = own.values("pk").union(*shared, all=True)
    found: Any = Project.objects.filter(pk__in=keys)
    entries = ProjectMember.objects.filter(is_for(user), target=models.OuterRef("pk"))
    is_own = Case(When(user=user, then=True), default=False, output_field=models.BooleanField())
    lets_add = models.Exists(entries.filter(may_add=True))
    found = found.annotate(is_own=is_own, lets_add=lets_add).only("name")
    named: models.QuerySet[Project] = found.order_by("-is_own", "name", "id")
    return named[: MAX_PROJECTS + MAX_SHARED]


_PROJECTS = Query(_projects, User._meta.pk)
