"""Queries for the list of people, paginated by username, and for one person's page."""

from dataclasses import dataclass
from typing import Self

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.template.defaultfilters import pluralize

from chatapp.accounts.second_factor import FACTORS
from chatapp.models import Invitation, LegalHold, User
from chatapp.staff.pickers.queries import build_name_condition

PAGE = 50
MAX_INVITED = 5  # shown below the list
MAX_HOLDS = 100  # shown on a person's page
STATES = {"active": Q(is_active=True), "off": Q(is_active=False), "never": Q(last_login=None)}
ADMINISTERS = Q(is_staff=True, is_superuser=True)
ROLES = {
    "administrator": ADMINISTERS,
    "reviewer": Q(reviews=True),
    "member": ~ADMINISTERS & Q(reviews=False),
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
        factors = Authenticator.objects.filter(user=OuterRef("pk"), type__in=FACTORS)
        people = User.objects.order_by("username").prefetch_related("groups")
        people = people.annotate(has_second_factor=Exists(factors))
        people = people.filter(
            build_name_condition(self.words), ROLES.get(self.role, Q()), STATES.get(self.state, Q())
        )
        if self.group is not None:
            people = people.filter(groups=self.group)
        return people.filter(username__gt=self.after) if self.after else people


def load_page(filters: PeopleFilter) -> tuple[list[User], bool]:
    """Return the people of one page, and whether there are more."""
    people = list(filters.people()[: PAGE + 1])
    return people[:PAGE], len(people) > PAGE


def open_invitations() -> list[Invitation]:
    """Return invitations that can still be used, the newest first."""
    invitations = Invitation.objects.open().select_related("made_by").order_by("-pk")
    return list(invitations[:MAX_INVITED])


def load_holds(person: User) -> list[LegalHold]:
    """Return active holds first, then ended ones, each the newest first."""
    holds = person.legal_holds.select_related("set_by", "ended_by")
    return list(holds.order_by(F("ended_at").desc(nulls_first=True), "-pk")[:MAX_HOLDS])


@dataclass(frozen=True)
class SignIn:
    """The ways in which a person proves who they are, beside a password."""

    apps: int
    passkeys: int
    identities: int  # accounts at the organisation's sign-in

    @classmethod
    def of(cls, person: User) -> Self:
        types = list(Authenticator.objects.filter(user=person).values_list("type", flat=True))
        return cls(
            types.count(Authenticator.Type.TOTP),
            types.count(Authenticator.Type.WEBAUTHN),
            SocialAccount.objects.filter(user=person).count(),
        )

    @property
    def second_factors(self) -> str:
        """An authenticator app, 2 passkeys; "" without any."""
        keys = f"{self.passkeys} passkey{pluralize(self.passkeys)}" if self.passkeys else ""
        return ", ".join(filter(None, ("Authenticator app" if self.apps else "", keys)))
