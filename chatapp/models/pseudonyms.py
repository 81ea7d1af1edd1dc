"""What a person is called where their name is not told: in an export, and in reviews whose policy
hides names.

It is made with the installation's secret, and so is the same for one person as long as that is. The
two places call them differently, so that nobody joins what stands beside the name in the one with
what is hidden in the other.
"""

import re

from django.utils.crypto import salted_hmac

from chatapp.models.users import User

IN_EXPORTS = "chatapp.pseudonym"
IN_REVIEWS = "chatapp.pseudonym.review"
_PATTERN = re.compile(r"person-[0-9a-f]{16}")


def pseudonym(person: User, place: str) -> str:
    return _of(person.pk, place)


def by_pseudonym(name: str) -> User | None:
    """Whom reviews call so."""
    if not _PATTERN.fullmatch(name):
        return None
    keys = User.objects.values_list("pk", flat=True).iterator()
    found = next((pk for pk in keys if _of(pk, IN_REVIEWS) == name), None)
    return User.objects.filter(pk=found).first() if found is not None else None


def _of(pk: int, place: str) -> str:
    key = salted_hmac(place, str(pk), algorithm="sha256").hexdigest()
    return f"person-{key[:16]}"
