"""What all processes remember of failed attempts, in the database that signing in needs anyway.

So it outlives restarts, nothing else has to be there, and where it is away nobody signs in at all.
"""

from datetime import datetime
from typing import Any

from django.core.cache.backends.db import DatabaseCache

from chatapp.models import CacheEntry


class SharedCache(DatabaseCache):
    """Forgets what has expired and nothing else: no number of entries pushes one out, or whoever
    makes many would unlock what is locked."""

    def _cull(self, db: str, cursor: Any, now: datetime, num: int) -> None:
        CacheEntry.objects.using(db).filter(expires__lt=now).delete()
