"""Projects: a person's folders of conversations, with instructions and a model for new chats."""

import uuid

from django.db import models

from chatapp.models.accounts.users import User
from chatapp.models.library.presets import Preset
from chatapp.models.platform.upstreams import ModelChoice, Upstream

MAX_NAME_LENGTH = 80
MAX_INSTRUCTIONS_LENGTH = 20_000  # characters; they are sent with every turn
MAX_PROJECTS = 200  # per person, since the sidebar shows all of them


class Project(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="projects")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    instructions = models.TextField(
        blank=True, help_text="Sent to the model before the conversation."
    )
    upstream = models.ForeignKey(Upstream, models.SET_NULL, null=True, blank=True)
    model = models.CharField(max_length=200, blank=True)
    preset = models.ForeignKey(
        Preset, models.SET_NULL, null=True, blank=True, related_name="+", help_text="Of new chats."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

    @property
    def stored_bytes(self) -> int:
        return len(self.name.encode()) + len(self.instructions.encode())

    @property
    def preselected(self) -> ModelChoice | None:
        """The model preselected for its new chats, if it has one."""
        if self.upstream_id is None or not self.model:
            return None
        return ModelChoice(self.upstream_id, self.model)
