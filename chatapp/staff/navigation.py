"""The navigation around the content of every staff page, with counts of what waits.

A page that doesn't show it queries nothing.
"""

from functools import cached_property

from django.http import HttpRequest

from chatapp.accounts.navigation import MAX_COUNTED, Group, navigation
from chatapp.models import UpstreamFailure, User
from chatapp.staff.review.finding.queue import count_waiting
from chatapp.staff.upstream_setup.failing import failing_upstreams

# The titles of the groups with their pages: the URL's name, the label, and who may open it.
GROUPS = (
    (
        "People",
        (
            ("people", "People", "administers"),
            ("usage", "Usage", "administers"),
            ("limits", "Limits", "administers"),
        ),
    ),
    (
        "Models",
        (
            ("upstreams", "Models", "administers"),
            ("tool-servers", "Tool servers", "administers"),
        ),
    ),
    (
        "Conversations",
        (
            ("review", "Review", "reviews"),
            ("review-labels", "Labels", "administers"),
            ("review-rules", "Rules", "administers"),
            ("policy", "Policy", "administers"),
            ("retention", "Retention", "administers"),
        ),
    ),
    (
        "Site",
        (
            ("settings", "Settings", "administers"),
            ("shared-items", "Shared", "administers"),
            ("audit", "Audit", "administers"),
        ),
    ),
)


class StaffPage:
    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def navigation(self) -> list[Group]:
        """The pages that the person may open, in groups."""
        user = self._request.user
        pages = [
            (title, [(name, label) for name, label, role in named if getattr(user, role)])
            for title, named in GROUPS
        ]
        return navigation(self._request, pages, self._waiting)

    @property
    def is_waiting(self) -> bool:
        return any(count for count, _ in self._waiting.values())

    @cached_property
    def _waiting(self) -> dict[str, tuple[int, str]]:
        """The counts of what waits for the person on each page, by the URL's name."""
        user = self._request.user
        assert isinstance(user, User)
        counts = {}
        if user.reviews:
            counts["review"] = (count_waiting(MAX_COUNTED + 1), "to look at")
        if user.administers:
            counts["upstreams"] = (len(self.failing_upstreams), "failing")
        return counts

    @cached_property
    def failing_upstreams(self) -> list[UpstreamFailure]:
        """The latest failure of each upstream to warn of."""
        return failing_upstreams(self._request)


def staff_page(request: HttpRequest) -> dict[str, StaffPage]:
    """Context processor: what staff pages show around their content."""
    return {"staff_page": StaffPage(request)}
