"""The table of `chatapp.sessions.shared_cache`, with the columns of Django's database cache."""

from django.db import models


class CacheEntry(models.Model):
    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.cache_key
