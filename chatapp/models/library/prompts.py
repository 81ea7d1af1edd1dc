"""Saved prompts: texts with blanks, which people find in the composer by typing a slash."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models

from chatapp.models.accounts.users import User
from chatapp.models.library.sharing import Grant
from chatapp.models.library.versions import Version, Versioned

MAX_TITLE_LENGTH = 80
MAX_COMMAND_LENGTH = 40
MAX_TEXT_LENGTH = 20_000  # characters
MAX_PROMPTS = 1000  # that a person owns
MAX_BLANKS = 50
COMMAND = re.compile(r"\w[\w-]*")


def validate_command(value: str) -> None:
    if not COMMAND.fullmatch(value):
        raise ValidationError(
            "A command has letters, digits, hyphens and underscores, for example weekly-report."
        )


class PromptContent(models.Model):
    title = models.CharField(max_length=MAX_TITLE_LENGTH)
    command = models.CharField(  # lower case, without the slash
        max_length=MAX_COMMAND_LENGTH, blank=True, validators=[validate_command]
    )
    text = models.TextField(max_length=MAX_TEXT_LENGTH)

    class Meta:
        abstract = True


class SavedPrompt(PromptContent, Versioned):
    NAME: ClassVar[str] = "title"
    CONTENT: ClassVar[tuple[str, ...]] = ("title", "command", "text")

    class Meta:
        ordering = ["title", "id"]

    def __str__(self) -> str:
        return self.title


class PromptVersion(PromptContent, Version):
    target = models.ForeignKey(SavedPrompt, models.CASCADE, related_name="versions", db_index=False)

    class Meta(Version.Meta):
        pass

    def __str__(self) -> str:
        return f"{self.title}, version {self.number}"


class PromptGrant(Grant):
    target = models.ForeignKey(SavedPrompt, models.CASCADE, related_name="grants", db_index=False)

    class Meta(Grant.Meta):
        pass


class RememberedValues(models.Model):
    """The values that a person last filled into the blanks of a prompt, by the blanks' names."""

    user = models.ForeignKey(User, models.CASCADE, related_name="remembered_values", db_index=False)
    prompt = models.ForeignKey(SavedPrompt, models.CASCADE, related_name="+")
    values = models.JSONField(default=dict)
    used_at = models.DateTimeField(auto_now=True)

    objects: ClassVar[Any] = models.Manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "prompt"], name="remembered_of_a_prompt")
        ]

    def __str__(self) -> str:
        return f"Values for {self.prompt_id}"

    @classmethod
    def get_values(cls, user: User, prompt: SavedPrompt) -> dict[str, str]:
        """Return the values by the blanks' names; none if the prompt was not used yet."""
        row = cls.objects.filter(user=user, prompt=prompt).first()
        return dict(row.values) if row else {}

    @classmethod
    def remember(cls, user: User, prompt: SavedPrompt, values: Mapping[str, str]) -> None:
        cls.objects.update_or_create(user=user, prompt=prompt, defaults={"values": dict(values)})
