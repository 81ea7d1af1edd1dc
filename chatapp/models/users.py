"""People, and their roles.

Who administers sets things up, and reads nobody's conversations; who reviews reads them, and sets
nothing up. One person may do both, and most do neither. Django's flags are what keeps the first of
the two, `reviews` the second; `is_staff` opens the settings' pages to either.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.core.exceptions import ValidationError
from django.db import models, transaction

from chatapp.models.refusals import Refused
from chatapp.models.statements import Query
from chatapp.seen import is_blank

LONGEST_LOGIN = 255  # characters: one more than a username or an address may have
LAST_ADMINISTRATOR = (
    "This is the last account that can administer this server. Make another administrator first."
)
NOT_ONESELF = "Nobody gives themselves a role. Ask another administrator."


class Users(UserManager["User"]):
    use_in_migrations = False

    def create_superuser(self, *arguments: Any, **fields: Any) -> "User":
        """Who makes one in the terminal can read the database, so that nothing is kept from them
        by keeping the other role."""
        fields.setdefault("reviews", True)
        return super().create_superuser(*arguments, **fields)


class User(AbstractUser):
    """A person. Ours from the first migration, so that it can grow."""

    reviews = models.BooleanField(
        "reviewer", default=False, db_default=False, help_text="Reads everybody's conversations."
    )

    seen_at = models.DateTimeField("last seen", null=True, editable=False)

    objects: ClassVar[Users] = Users()

    def clean(self) -> None:
        super().clean()
        if self.username and is_blank(self.username):
            raise ValidationError({"username": "A name is of letters that can be seen."})

    @property
    def administers(self) -> bool:
        return self.is_staff and self.is_superuser

    @property
    def roles(self) -> list[str]:
        """In words; whoever has none is a member."""
        named = {"Administrator": self.administers, "Reviewer": self.reviews}
        held = [role for role, is_held in named.items() if is_held]
        return held or ["Staff" if self.is_staff or self.is_superuser else "Member"]

    @property
    def opens_settings(self) -> bool:
        """Whether the settings' pages have anything for them, or they only review."""
        return self.is_staff and (self.is_superuser or bool(self.get_all_permissions()))

    @transaction.atomic
    def take_roles(self, administers: bool, reviews: bool, given_by: "User") -> None:
        """Has these roles and no other; raises `Refused` where they may not be given."""
        is_more = administers > self.administers or reviews > self.reviews
        if is_more and given_by.pk == self.pk:
            raise Refused(NOT_ONESELF)
        if not administers and User.leaves_no_administrator([self.pk]):
            raise Refused(LAST_ADMINISTRATOR)
        self.is_superuser, self.reviews = administers, reviews
        self.is_staff = administers or reviews
        self.save(update_fields=["is_superuser", "reviews", "is_staff"])

    @staticmethod
    def kept(pk: int | str) -> "User | None":
        """The person of this primary key, for whom every page and action asks."""
        return _KEPT.first(pk)

    @staticmethod
    def is_only_one() -> bool:
        """Whether nobody else has an account."""
        return len(_FIRST_TWO.all()) == 1

    @classmethod
    def by_login(cls, login: str) -> "User | None":
        """Who signs in by this: a username, else the e-mail address of one account alone.

        In lower or upper case, and both asked for whatever is found, so that the time is the same.
        """
        login = login[:LONGEST_LOGIN]  # SQLite's LIKE fails on what is too long for it
        named = list(cls.objects.filter(username__iexact=login)[:2])
        written_to = list(cls.objects.filter(email__iexact=login)[:2]) if login else []
        found = named or written_to
        exact = [user for user in found if login in (user.username, user.email)]
        found = exact if len(found) > 1 else found
        return found[0] if len(found) == 1 else None

    @classmethod
    def by_address(cls, address: str) -> "User | None":
        """Whose e-mail address this is, but for the case of its ASCII letters: to a PostgreSQL a
        letter without its dot is one with it."""
        found = cls.objects.filter(email__iexact=address) if address else ()
        wanted = address.encode().lower()
        return next((one for one in found if one.email.encode().lower() == wanted), None)

    @classmethod
    def leaves_no_administrator(cls, without: Iterable[int]) -> bool:
        """Whether nobody could administer any more without these; call it in a transaction, in
        which the administrators stay what they are."""
        administrators = cls.objects.filter(is_active=True, is_staff=True, is_superuser=True)
        left = set(administrators.select_for_update().values_list("pk", flat=True))
        return bool(left) and left <= set(without)


_KEPT = Query(lambda pk: User.objects.filter(pk=pk), User._meta.pk)
_FIRST_TWO = Query(lambda: User.objects.only("pk")[:2])
