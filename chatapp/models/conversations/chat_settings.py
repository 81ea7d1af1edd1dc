"""What a person set for a chat, and what the requests of its replies were sent with."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from django.db import models

from chatapp.db.statements import Query
from chatapp.models.accounts.memory import Memory
from chatapp.models.accounts.users import User
from chatapp.models.conversations.conversation import Conversation


class ChatSettings(models.Model):
    """A chat's own system prompt and parameters. A chat that has neither has no row."""

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="settings"
    )
    system_prompt = models.TextField(blank=True)
    parameters = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return f"Settings of {self.conversation}"

    @staticmethod
    def of(conversation: Conversation) -> "ChatSettings":
        """Return the chat's settings; new ones if it has none."""
        found = _OF.first(conversation.pk) or ChatSettings()
        found.conversation = conversation
        return found

    @classmethod
    def copy(cls, conversation: Conversation, copy: Conversation) -> None:
        """Give another conversation the same settings."""
        settings = cls.of(conversation)
        settings.conversation = copy
        settings.store()

    @property
    def is_empty(self) -> bool:
        return not (self.system_prompt or self.parameters)

    def store(self) -> None:
        """Save what is set, or delete the row if nothing is."""
        if not self.is_empty:
            ChatSettings.objects.update_or_create(
                conversation=self.conversation,
                defaults={"system_prompt": self.system_prompt, "parameters": self.parameters},
            )
        elif not self._state.adding:
            self.delete()


class RequestSettings(models.Model):
    """What the requests of one or more replies had besides messages. Never changed.

    Shows later what a reply was really asked with, whatever was changed since.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)  # of the other fields
    instructions = models.TextField(blank=True)  # the system message
    parameters = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "digest"], name="one_row_for_equal_requests"
            )
        ]

    def __str__(self) -> str:
        return f"Request settings in {self.conversation}"

    @classmethod
    def now(cls, settings: ChatSettings, user: User) -> "RequestSettings | None":
        """Return what a request of this chat has now; None if there is nothing besides messages.

        If no earlier reply was asked with the same, it is not stored yet.
        """
        conversation = settings.conversation
        instructions = _joined(
            settings.system_prompt,
            conversation.project.instructions if conversation.project else "",
            "" if conversation.is_temporary else Memory.instructions_of(user.pk),
        )
        if not (instructions or settings.parameters):
            return None
        digest = _digest(instructions, settings.parameters)
        return _KNOWN.first(conversation.pk, digest) or cls(
            conversation=conversation,
            digest=digest,
            instructions=instructions,
            parameters=settings.parameters,
        )

    def store(self) -> None:
        """Insert it if it is new."""
        if self._state.adding:
            self.save(force_insert=True)

    @classmethod
    def copy(cls, pks: set[UUID], conversation: Conversation) -> Mapping[UUID | None, UUID]:
        """Copy these rows to another conversation, unless it has them; return its rows' ids by
        the old ones."""
        copies: dict[UUID | None, UUID] = {}
        for one in cls.objects.filter(pk__in=pks) if pks else ():
            content = {"instructions": one.instructions, "parameters": one.parameters}
            copy, _ = cls.objects.get_or_create(
                conversation=conversation, digest=one.digest, defaults=content
            )
            copies[one.pk] = copy.pk
        return copies


def _joined(*instructions: str) -> str:
    return "\n\n".join(one for one in instructions if one.strip())


def _digest(instructions: str, parameters: Mapping[str, Any]) -> str:
    content = json.dumps([instructions, parameters], sort_keys=True)
    return sha256(content.encode()).hexdigest()


_OF = Query(
    lambda conversation: ChatSettings.objects.filter(pk=conversation).order_by(),
    Conversation._meta.pk,
)
_KNOWN = Query(
    lambda conversation, digest: RequestSettings.objects.filter(
        conversation=conversation, digest=digest
    ).order_by(),
    Conversation._meta.pk,
    RequestSettings._meta.get_field("digest"),
)
