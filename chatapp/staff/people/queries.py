"""Queries for the list of people, paginated by username, and for legal holds."""

from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from chatapp.models import LegalHold, User
from chatapp.staff.pickers.queries import named

PAGE = 50
MAX_HOLDS = 100  # shown on a person's page
STATES = {"active": Q(is_active=True), "off": Q(is_active=False), "never": Q(last_login=None)}
ROLES = {
    "administrator": Q(is_staff=True, is_superuser=True),
    "reviewer": Q(reviews=True),
    "member": Q(is_superuser=False, reviews=False),
}


@dataclass(frozen=True)
class PeopleFilter:
    """Filters of the list; "" and None filter nothing."""

    words: str = ""
    role: str = ""
    group: int | None = None
    state: str = ""
    after: str = ""  # the last username of the previous page

    def people(self) -> QuerySet[User]:
        found = User.objects.order_by("username").prefetch_related("groups")
        found = found.filter(
            named(self.words), ROLES.get(self.role, Q()), STATES.get(self.state, Q())
        )
        if self.group is not None:
            found = found.filter(groups=self.group)
        return found.filter(username__gt=self.after) if self.after else found


def page_of(filters: PeopleFilter) -> tuple[list[User], bool]:
    """Return the people of one page, and whether there are more."""
    found = list(filters.people()[: PAGE + 1])
    return found[:PAGE], len(found) > PAGE


def holds_of(person: User) -> list[LegalHold]:
    """Return active holds first, then ended ones, each the newest first."""
    found = person.legal_holds.select_related("set_by", "ended_by")
    return list(found.order_by(F("ended_at").desc(nulls_first=True), "-pk")[:MAX_HOLDS])
