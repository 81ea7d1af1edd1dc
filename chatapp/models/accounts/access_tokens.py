"""Personal access tokens, with which a person's scripts use the API.

Only a hash of a token is stored: it is shown once, when it is made. Its bits are random, so a fast
hash will do. A token is revoked by deleting its row.
"""

import hashlib
import secrets
import uuid
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Self

from django.db import DatabaseError, connection, models, transaction
from django.db.models import Q
from django.utils import timezone

from chatapp.db.connections import limit_lock_wait
from chatapp.models.accounts.users import User
from chatapp.models.refusals import Refused

PREFIX = "chatapp_"  # lets scanners recognise a token that was published by mistake
MAX_TOKENS = 50  # of a person
MAX_NAME_LENGTH = 100
SHOWN_CHARACTERS = 4
USE_EVERY = timedelta(minutes=1)  # how often the last use is stored
TOO_MANY = f"You have {MAX_TOKENS} tokens, which is the most. Revoke one that you don't need."


class Scope(models.TextChoices):
    """The uses that a token allows."""

    CHAT = "chat", "Ask models"
    MODELS = "models", "List models"


class AccessTokenQuerySet(models.QuerySet["AccessToken"]):
    def living(self) -> Self:
        """Return the tokens that have not expired, of people who may sign in."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(unexpired, user__is_active=True)


class AccessToken(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="access_tokens")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    last_characters = models.CharField(max_length=SHOWN_CHARACTERS, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    objects = models.Manager.from_queryset(AccessTokenQuerySet)()

    class Meta:
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    @transaction.atomic
    def issue(
        cls, user: User, name: str, scopes: Collection[str], expires_at: datetime | None
    ) -> tuple[Self, str]:
        """Store a new token; return it and its secret. Raises `Refused` if there are too many."""
        # Locked, so that several requests at once can't exceed the limit together.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if cls._default_manager.filter(user=user).count() >= MAX_TOKENS:
            raise Refused(TOO_MANY)
        secret = PREFIX + secrets.token_urlsafe(32)
        token = cls(
            user=user,
            name=name,
            digest=_digest(secret),
            last_characters=secret[-SHOWN_CHARACTERS:],
            scopes=sorted(scopes),
            expires_at=expires_at,
        )
        token.save(force_insert=True)
        return token, secret

    @staticmethod
    def find(secret: str) -> "AccessToken | None":
        """Return the living token with this secret, with its person."""
        living = AccessToken.objects.living().select_related("user").order_by()
        return living.filter(digest=_digest(secret)).first()

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def scope_labels(self) -> list[str]:
        return [Scope(scope).label for scope in self.scopes if scope in Scope]

    def note_use(self) -> None:
        """Store the time of its last use, at most once a minute. No request waits for that."""
        now = timezone.now()
        if self.last_used_at and now - self.last_used_at < USE_EVERY:
            return
        with suppress(DatabaseError), limit_lock_wait(connection):
            AccessToken.objects.filter(pk=self.pk).update(last_used_at=now)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
