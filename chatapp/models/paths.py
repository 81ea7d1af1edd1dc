"""Paths of the app's own pages, for what is drawn a thousand times."""

from functools import cache
from uuid import UUID

from django.urls import reverse

_NO_ONE = UUID(int=0)


def path_of(name: str, pk: UUID) -> str:
    """What `reverse` gives, which takes as long as a row of a list to draw."""
    before, after = _around_key(name)
    return f"{before}{pk}{after}"


@cache
def _around_key(name: str) -> tuple[str, str]:
    before, _, after = reverse(name, args=[_NO_ONE]).partition(str(_NO_ONE))
    return before, after
