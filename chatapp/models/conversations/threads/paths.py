"""Paths of the app's own pages, for lists that render thousands of links."""

from functools import cache
from uuid import UUID

from django.urls import reverse

_PLACEHOLDER = UUID(int=0)


def build_path(name: str, pk: UUID) -> str:
    """Return what `reverse` returns, which alone takes as long as rendering a list row."""
    before, after = _split_path(name)
    return f"{before}{pk}{after}"


@cache
def _split_path(name: str) -> tuple[str, str]:
    before, _, after = reverse(name, args=[_PLACEHOLDER]).partition(str(_PLACEHOLDER))
    return before, after
