"""People."""

from collections.abc import Iterable
from typing import Self

from django.contrib.auth.models import AbstractUser

LONGEST_LOGIN = 255  # characters: one more than a username or an address may have


class User(AbstractUser):
    """A person. Ours from the first migration, so that it can grow."""

    @classmethod
    def by_login(cls, login: str) -> Self | None:
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
    def leaves_no_administrator(cls, without: Iterable[int]) -> bool:
        """Whether nobody could administer any more without these; call it in a transaction, in
        which the administrators stay what they are."""
        administrators = cls.objects.filter(is_active=True, is_staff=True, is_superuser=True)
        left = set(administrators.select_for_update().values_list("pk", flat=True))
        return bool(left) and left <= set(without)
