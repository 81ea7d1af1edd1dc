"""A cache of failed attempts shared by all processes, in the database that signing in needs anyway.

It survives restarts and needs no other service; while the database is down, nobody can sign in.
"""

from datetime import datetime
from typing import Any

from django.core.cache.backends.db import DatabaseCache

from chatapp.models import CacheEntry


class SharedCache(DatabaseCache):
    """Removes expired entries only.

    If a large number of entries evicted others, making many would lift a lockout.
    """

    def _cull(self, db: str, cursor: Any, now: datetime, num: int) -> None:
        CacheEntry.objects.using(db).filter(expires__lt=now).delete()
