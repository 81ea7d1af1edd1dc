"""A reviewer's search over everything they may read, with the reason for it.

It is stored for a while so that neither the words nor the reason appear in a URL.
"""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Self
from uuid import UUID, uuid4

from django.db import models
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.review.reviews import MAX_REASON_LENGTH
from chatapp.models.search.full_text_everywhere import LAST, find_everywhere
from chatapp.models.search.search_entries import first_id
from chatapp.text.indexing import terms

MAX_SEARCH_LENGTH = 200  # characters
LIFETIME = timedelta(minutes=30)


class ReviewSearch(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="+")
    words = models.CharField(max_length=MAX_SEARCH_LENGTH)
    reason = models.CharField(max_length=MAX_REASON_LENGTH)
    ends_at = models.DateTimeField()

    objects: ClassVar[Any] = models.Manager()
    is_cut = False  # set by `find_conversations`: older matches may be missing

    def __str__(self) -> str:
        return f"Search {self.pk}"

    @classmethod
    def begin(cls, reviewer: User, words: str, reason: str) -> Self:
        """Store a search, and delete all that have expired."""
        now = timezone.now()
        cls.objects.filter(ends_at__lte=now).delete()
        begun = cls(reviewer=reviewer, words=words, reason=reason, ends_at=now + LIFETIME)
        begun.save(force_insert=True)
        return begun

    @classmethod
    def find_active(cls, reviewer: User, pk: UUID) -> "ReviewSearch | None":
        active = cls.objects.filter(pk=pk, reviewer=reviewer, ends_at__gt=timezone.now())
        search: ReviewSearch | None = active.first()
        return search

    def find_conversations(
        self, person: int | None = None, until: datetime | None = None
    ) -> list[UUID]:
        """Return the conversations that contain all of its words, whether a reviewer may read them
        or not; if given, only those of `person` and only messages before `until`."""
        before = first_id(until) if until else LAST
        everywhere = find_everywhere(terms(self.words), person, before)
        self.is_cut = everywhere.is_cut
        return everywhere.conversations
