"""Positions in the review list, which is ordered by the time of last use, newest first.

In the queue, urgency comes before that.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q

from chatapp.staff.review.finding.reasons import URGENCIES


@dataclass(frozen=True)
class ReviewPosition:
    """The last conversation of a page; the next page begins with the one used before it."""

    used: datetime
    pk: UUID
    urgency: int = 0  # in the queue

    def __str__(self) -> str:
        return f"{self.used.isoformat()}/{self.pk}/{self.urgency}"

    @classmethod
    def parse(cls, text: str) -> "ReviewPosition":
        """Parse the text form. Raises `ValueError` if it is not valid."""
        used, pk, urgency = (*text.split("/"), "0")[:3]
        if urgency not in map(str, range(len(URGENCIES))):
            raise ValueError("There is no such urgency.")
        try:
            return cls(datetime.fromisoformat(used).astimezone(UTC), UUID(pk), int(urgency))
        except OverflowError as error:
            raise ValueError("The time is out of range.") from error

    @property
    def is_before(self) -> Q:
        # The first condition repeats part of the second: it is the one that an index can serve.
        return Q(used__lte=self.used) & (Q(used__lt=self.used) | Q(pk__lt=self.pk))

    @property
    def is_after(self) -> Q:
        return Q(used__gte=self.used) & (Q(used__gt=self.used) | Q(pk__gt=self.pk))
