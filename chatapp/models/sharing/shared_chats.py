"""Shared chats: links to a read-only page of a chat, for an audience.

A link contains a token. The database stores only a hash of it and its last characters. The token is
derived from those characters and SECRET_KEY, so its owner can copy the link again, but nobody can
open it with a stolen database. A link shows one branch: up to a message (a snapshot), or the one
that the owner reads (a live view). Every lookup starts from the token and the person who opens it,
so it ends at once with its expiry, its audience, its chat or its owner's account, and what is not
open does not exist.
"""

import base64
import hashlib
import secrets
import uuid
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar, Self

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chatapp.db.connections import limit_lock_wait
from chatapp.models import audit
from chatapp.models.accounts.audiences import EVERYONE, AudienceEntry, is_for
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.library.sharing import NO_SHARING, groups_to_share_with
from chatapp.models.platform.installation import Installation
from chatapp.models.refusals import ChatNotFound, Refused

KEYED_BYTES = 21  # 168 bits
TOKEN_SALT = "chatapp.shared-link"  # noqa: S105 - a name
MAX_LINKS = 200  # of a person
SHOWN_CHARACTERS = 4  # random, at the end of a token
USE_INTERVAL = timedelta(minutes=1)  # how often the last use is stored
A_DAY = timedelta(days=1)
PUBLIC = "Anyone with the link"
TOO_MANY = f"You have {MAX_LINKS} shared links, which is the most. Revoke one that you don't need."
NOT_PUBLIC = "An administrator doesn't allow links that work without signing in."
TOO_LONG = "An administrator has limited how long links work: {} days at most."
NOBODY = "Choose whom to share with: people, groups, or everyone who signs in."
NOT_YOUR_GROUP = "You can share with groups that you belong to. Choose one of these."
TEMPORARY = "A temporary chat can't be shared. Keep it first."
STREAMS = "This reply is still being written. Share the chat when it has ended, or share it live."


@dataclass(frozen=True)
class Audience:
    """For whom a link is."""

    people: Collection[User] = ()
    groups: Collection[Group] = ()
    is_everyone: bool = False  # who signs in
    is_public: bool = False  # works without signing in

    @property
    def names(self) -> list[str]:
        """Names for the audit log, which names people by id."""
        people = [f"person {person.pk}" for person in self.people]
        names = [*people, *(group.name for group in self.groups)]
        everyone = [EVERYONE] if self.is_everyone else []
        return [*names, *everyone, *([PUBLIC] if self.is_public else [])]


@dataclass(frozen=True)
class ShareOptions:
    """The parts that a shared page shows besides prompts and answers."""

    shows_reasoning: bool = False
    shows_tools: bool = False
    shows_files: bool = False
    shows_author: bool = False


class SharedChatQuerySet(models.QuerySet["SharedChat"]):
    def active(self) -> Self:
        """Return the unexpired links to chats that may be opened, of people who may sign in."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(
            unexpired,
            conversation__trashed_at=None,
            conversation__is_temporary=False,
            conversation__user__is_active=True,
        )

    def open_to(self, user: User | None) -> Self:
        """Return the links that this person may read, or anyone if it is None."""
        is_open = Q(pk__in=[])
        if Installation.load().allows_public_links:
            is_open = Q(is_public=True)
        if user:
            entries = SharedChatAudience.objects.filter(is_for(user), target=OuterRef("pk"))
            is_open |= Exists(entries) | Q(conversation__user=user)
        return self.active().filter(is_open)

    def for_user(self, user: User) -> Self:
        """Return the links to a person's chats."""
        return self.filter(conversation__user=user)

    def with_names(self) -> Self:
        """Load what lists of them show."""
        related = self.select_related("conversation__user", "message")
        return related.prefetch_related("audience__person", "audience__group")


class SharedChat(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="shared_links")
    # The last message of a snapshot; None follows the branch that the owner reads.
    message = models.ForeignKey(Message, models.CASCADE, null=True, related_name="+")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    last_characters = models.CharField(max_length=SHOWN_CHARACTERS, editable=False)
    is_public = models.BooleanField(default=False)
    shows_reasoning = models.BooleanField(default=False)
    shows_tools = models.BooleanField(default=False)
    shows_files = models.BooleanField(default=False)
    shows_author = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    objects = models.Manager.from_queryset(SharedChatQuerySet)()

    COPY_ACTION: ClassVar[str] = "chat.share_copied"

    class Meta:
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return f"Shared link {self.pk}"

    @staticmethod
    def find(token: str, user: User | None) -> "SharedChat | None":
        """Return the link with this token if it is open to the person, or to anyone if None."""
        links = SharedChat.objects.open_to(user).filter(digest=_digest(token)).order_by()
        return links.select_related("conversation__user").first()

    def is_open_to(self, user: User) -> bool:
        return SharedChat.objects.open_to(user).filter(pk=self.pk).exists()

    @property
    def user_id(self) -> int:
        """The owner, as the audit log asks for it."""
        return self.conversation.user_id

    @property
    def token(self) -> str | None:
        """The token; None if an older version or a forgotten SECRET_KEY made it."""
        keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        candidates = (self._token(self.last_characters, key) for key in keys)
        return next(
            (candidate for candidate in candidates if _digest(candidate) == self.digest), None
        )

    def assign_new_token(self) -> str:
        """Return a new token after setting the fields that belong to it."""
        ending = secrets.token_urlsafe(SHOWN_CHARACTERS)[:SHOWN_CHARACTERS]
        token = self._token(ending, settings.SECRET_KEY)
        self.digest, self.last_characters = _digest(token), ending
        return token

    def _token(self, ending: str, key: str) -> str:
        code = salted_hmac(TOKEN_SALT, f"{self.pk}{ending}", key, algorithm="sha256").digest()
        return base64.urlsafe_b64encode(code[:KEYED_BYTES]).decode() + ending

    @property
    def is_live(self) -> bool:
        return self.message_id is None

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def seconds_left(self) -> float:
        """The seconds until it expires; infinite if it never does."""
        if self.expires_at is None:
            return float("inf")
        return max(0.0, (self.expires_at - timezone.now()).total_seconds())

    @property
    def audience_names(self) -> list[str]:
        """For whom it is, as pages show it."""
        names = sorted(entry.name for entry in self.audience.all())
        return [*names, *([PUBLIC] if self.is_public else [])]

    @property
    def audience_kinds(self) -> list[str]:
        """For whom it is, without the names of people and groups."""
        entries = list(self.audience.all())
        people = sum(entry.person is not None for entry in entries)
        groups = sum(entry.group is not None for entry in entries)
        is_everyone = len(entries) > people + groups
        kinds = {
            "one person" if people == 1 else f"{people} people": people,
            "one group" if groups == 1 else f"{groups} groups": groups,
            EVERYONE: is_everyone,
            PUBLIC: self.is_public,
        }
        return [kind for kind, is_there in kinds.items() if is_there]

    @property
    def shown_parts(self) -> list[str]:
        """The names of the parts that it shows besides prompts and answers."""
        parts = {
            "reasoning": self.shows_reasoning,
            "tool calls": self.shows_tools,
            "files": self.shows_files,
            "your name": self.shows_author,
        }
        return [name for name, is_shown in parts.items() if is_shown]

    @transaction.atomic
    def renew(self) -> str:
        """Replace the token, so that the old link stops working; return the new one."""
        before = self.digest
        while self.digest == before:
            token = self.assign_new_token()
        self.save(update_fields=["digest", "last_characters"])
        detail = {"change": "a new link replaces the old one"}
        owner = self.conversation.user
        audit.record("chat.share_changed", actor=owner, about=self.conversation, detail=detail)
        return token

    @transaction.atomic
    def revoke(self, by: User) -> None:
        audit.record("chat.unshared", actor=by, about=self.conversation, detail=self.as_record())
        self.delete()

    def record_use(self, by: User | None) -> None:
        """Store the time of its last use, at most once a minute. No reader waits for that.

        The first use of a public link each day is recorded in the audit log.
        """
        now, before = timezone.now(), self.last_used_at
        if before and now - before < USE_INTERVAL:
            return
        with suppress(DatabaseError), limit_lock_wait(connection), transaction.atomic():
            stored = SharedChat.objects.filter(pk=self.pk, last_used_at=before)
            is_first = bool(stored.update(last_used_at=now))
            if is_first and by is None and (before is None or now.date() != before.date()):
                audit.record("chat.share_opened", actor=None, about=self.conversation)

    def as_record(self) -> dict[str, object]:
        """Return what the audit log has of it."""
        with_whom = Audience(
            [entry.person for entry in self.audience.all() if entry.person],
            [entry.group for entry in self.audience.all() if entry.group],
            any(not entry.person and not entry.group for entry in self.audience.all()),
            self.is_public,
        )
        return {"with": with_whom.names, "live": self.is_live}


class SharedChatAudience(AudienceEntry):
    """One of those whom a chat is shared with."""

    target = models.ForeignKey(SharedChat, models.CASCADE, related_name="audience")

    class Meta(AudienceEntry.Meta):
        pass


@dataclass(frozen=True)
class Share:
    """A person's request to share a chat: up to a message, or live if there is none."""

    conversation: uuid.UUID
    audience: Audience
    message: uuid.UUID | None = None
    options: ShareOptions = field(default_factory=ShareOptions)
    days: int | None = None

    @transaction.atomic
    def store(self, user: User) -> tuple[SharedChat, str]:
        """Store the link; return it and its token. Raises `Refused`."""
        # Locked, so that several requests at once can't exceed the limit together.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        conversation = Conversation.get_for_update(user, self.conversation)
        self._check(user, conversation)
        link = SharedChat(
            conversation=conversation,
            message_id=self._find_last_message(conversation),
            is_public=self.audience.is_public,
            expires_at=timezone.now() + timedelta(days=self.days) if self.days else None,
            **vars(self.options),
        )
        token = link.assign_new_token()
        link.save(force_insert=True)
        SharedChatAudience.objects.bulk_create(self._entries(link))
        detail = link.as_record() | vars(self.options) | {"days": self.days}
        audit.record("chat.shared", actor=user, about=conversation, detail=detail)
        return link, token

    def _check(self, user: User, conversation: Conversation) -> None:
        installation, audience = Installation.load(), self.audience
        if not installation.lets_share(user):
            raise Refused(NO_SHARING)
        if conversation.is_temporary:
            raise Refused(TEMPORARY)
        if not audience.names:
            raise Refused(NOBODY)
        if audience.is_public and not installation.allows_public_links:
            raise Refused(NOT_PUBLIC)
        max_days = installation.share_days
        if max_days and (self.days is None or self.days > max_days):
            raise Refused(TOO_LONG.format(max_days))
        if not set(audience.groups) <= set(groups_to_share_with(user)):
            raise Refused(NOT_YOUR_GROUP)
        if SharedChat.objects.for_user(user).count() >= MAX_LINKS:
            raise Refused(TOO_MANY)

    def _find_last_message(self, conversation: Conversation) -> uuid.UUID | None:
        if self.message is None:
            return None
        message = conversation.messages.filter(pk=self.message, deleted_at=None).first()
        if message is None:
            raise ChatNotFound
        if message.is_streaming:
            raise Refused(STREAMS)
        return message.pk

    def _entries(self, link: SharedChat) -> list[SharedChatAudience]:
        audience = self.audience
        entries = [SharedChatAudience(target=link, person=person) for person in audience.people]
        entries += [SharedChatAudience(target=link, group=group) for group in audience.groups]
        return [*entries, *([SharedChatAudience(target=link)] if audience.is_everyone else [])]


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
