"""What an administrator has not done yet on a server that is new."""

from collections.abc import Iterable

from chatapp.models import Upstream, User


def first_steps(person: User, upstreams: Iterable[Upstream]) -> list[str]:
    """Of "gateway" and "people" those that wait for this person, who may do them; `upstreams` are
    those that are enabled."""
    if not person.is_staff:  # whose rights are two statements, and open nothing
        return []
    steps = []
    has_gateway = any(not upstream.is_demo for upstream in upstreams)
    if not has_gateway and person.administers:
        steps.append("gateway")
    if person.administers and User.is_only_one():
        steps.append("people")
    return steps
