"""The setup steps that an administrator of a new server has not done yet."""

from collections.abc import Iterable

from chatapp.models import Upstream, User


def first_steps(person: User, upstreams: Iterable[Upstream]) -> list[str]:
    """Return those of "gateway" and "people" that this person can do and has not done yet.

    `upstreams` are the enabled ones.
    """
    if not person.administers:
        return []
    steps = []
    if all(upstream.is_demo for upstream in upstreams):
        steps.append("gateway")
    if User.is_only_one():
        steps.append("people")
    return steps
