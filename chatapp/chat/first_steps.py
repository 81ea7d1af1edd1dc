"""What an administrator has not done yet on a server that is new."""

from chatapp.models import Upstream, User
from chatapp.models.upstreams import DEMO


def first_steps(person: User) -> list[str]:
    """Of "gateway" and "people" those that wait for this person, who may do them."""
    steps = []
    if person.has_perm("chatapp.add_upstream") and not _has_gateway():
        steps.append("gateway")
    if person.has_perm("chatapp.add_user") and User.objects.count() == 1:
        steps.append("people")
    return steps


def _has_gateway() -> bool:
    """Whether more is connected than the built-in demo."""
    enabled = Upstream.objects.filter(enabled=True)
    return enabled.exclude(from_environment=True, name=DEMO).exists()
