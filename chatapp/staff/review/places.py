"""Where in the review's list somebody is, by when a conversation was used last."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q


@dataclass(frozen=True)
class Place:
    """Where a page ended: the next begins with what was used before this one."""

    used: datetime
    pk: UUID

    def __str__(self) -> str:
        return f"{self.used.isoformat()}/{self.pk}"

    @classmethod
    def read(cls, text: str) -> "Place":
        """Raises `ValueError` for what no page has said."""
        used, _, pk = text.partition("/")
        try:
            return cls(datetime.fromisoformat(used).astimezone(UTC), UUID(pk))
        except OverflowError as error:
            raise ValueError("No clock has shown this moment.") from error

    @property
    def is_before(self) -> Q:
        # The first of them alone is what an index is read by.
        return Q(used__lte=self.used) & (Q(used__lt=self.used) | Q(pk__lt=self.pk))

    @property
    def is_after(self) -> Q:
        return Q(used__gte=self.used) & (Q(used__gt=self.used) | Q(pk__gt=self.pk))
