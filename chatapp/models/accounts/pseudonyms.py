"""Pseudonyms for people in exports, and in reviews whose policy hides names.

They are derived from the installation's secret, so a person keeps the same pseudonym as long as the
secret stays. Exports and reviews use different ones, so that what an export shows beside a
pseudonym can't be joined with what a review hides behind the other.
"""

import re

from django.utils.crypto import salted_hmac

from chatapp.models.accounts.users import User

IN_EXPORTS = "chatapp.pseudonym"
IN_REVIEWS = "chatapp.pseudonym.review"
_PATTERN = re.compile(r"person-[0-9a-f]{16}")


def pseudonym(person: User, salt: str) -> str:
    return _build_pseudonym(person.pk, salt)


def find_by_pseudonym(name: str) -> User | None:
    """Return the person with this pseudonym in reviews."""
    if not _PATTERN.fullmatch(name):
        return None
    keys = User.objects.values_list("pk", flat=True).iterator()
    matching_pk = next((pk for pk in keys if _build_pseudonym(pk, IN_REVIEWS) == name), None)
    return User.objects.filter(pk=matching_pk).first() if matching_pk is not None else None


def _build_pseudonym(pk: int, salt: str) -> str:
    key = salted_hmac(salt, str(pk), algorithm="sha256").hexdigest()
    return f"person-{key[:16]}"
