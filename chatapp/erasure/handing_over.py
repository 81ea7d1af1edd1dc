"""Passes the shared items of a person who is being erased to an administrator.

What others use goes on working under another owner. Everything else of the person's goes with them.
"""

from collections import Counter

from chatapp.models.accounts.users import User
from chatapp.models.library.sharing import kinds


def hand_over(person: User, by: User | None) -> Counter[str]:
    """Return how many items of each model have a new owner: `by`, if they administer, or else the
    oldest administrator. Without any administrator, nothing is passed on."""
    if (heir := _heir(person, by)) is None:
        return Counter()
    passed = {
        kind._meta.label: kind.objects.owned_by(person).shared().update(owner=heir)
        for kind in kinds()
    }
    return +Counter(passed)


def _heir(person: User, by: User | None) -> User | None:
    if by and by.administers and by.pk != person.pk:
        return by
    others = User.objects.filter(is_active=True, is_staff=True, is_superuser=True)
    return others.exclude(pk=person.pk).order_by("pk").first()
