"""The settings of a chat."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import models, transaction

from chatapp.db.statements import Query
from chatapp.models.accounts.memory import Memory
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.projects import Project
from chatapp.models.library.presets import Preset, PresetVersion
from chatapp.models.platform.upstreams import ModelChoice
from chatapp.models.refusals import Refused
from chatapp.parameters.table import COMPOSER_PARAMETERS
from chatapp.parameters.values import clean_parameters

NOT_OPEN = (
    "You can't use the preset “{}” any more. Choose another one in the chat settings, or none. "
    "Your text is kept."
)
NOT_READABLE = "You may use this chat's preset, but not see or change its parameters."
MAX_MODELS = 20  # that have settings of their own in a chat
TOO_MANY = f"At most {MAX_MODELS} models of a chat can have settings of their own."
MAX_TOOLS = 128  # that run in a chat without a question
TOO_MANY_TOOLS = (
    f"At most {MAX_TOOLS} tools can run in a chat without a question. Take one back in the chat "
    "settings, or allow only this call."
)


class ChatSettings(models.Model):
    """The settings of a chat. A chat for which nothing is set has no row.

    A chat keeps the version of the preset that it was given, whatever becomes of the preset. It
    departs from that version where its own system prompt or parameters are not None.

    One of its models departs from the chat where `by_model` says so, whether it is asked alone or
    with others: `{"1/gpt-5": {"system_prompt": "…", "parameters": {"seed": 7, "stop": null}}}`. A
    parameter that is null there is not sent.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="settings"
    )
    preset_version = models.ForeignKey(
        PresetVersion, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    system_prompt = models.TextField(null=True, blank=True)  # noqa: DJ001 - "" is a choice, too
    parameters = models.JSONField(null=True, blank=True)
    by_model = models.JSONField(null=True, blank=True)
    # The tools that its person always allows: `Tool.definition` by their names for models.
    allowed_tools = models.JSONField(null=True, blank=True)
    # The primary keys of the tool servers whose tools its person switched off.
    off_servers = models.JSONField(null=True, blank=True)

    OWN_FIELDS = ("system_prompt", "parameters", "by_model")
    STORED_FIELDS = ("preset_version", *OWN_FIELDS, "allowed_tools", "off_servers")

    def __str__(self) -> str:
        return f"Settings of {self.conversation}"

    @staticmethod
    def for_conversation(conversation: Conversation) -> "ChatSettings":
        """Return the chat's settings; new ones if it has none."""
        settings = _BY_CONVERSATION.first(conversation.pk) or ChatSettings()
        settings.conversation = conversation
        return settings

    @classmethod
    def copy(cls, conversation: Conversation, copy: Conversation) -> None:
        """Give another conversation the same settings. There, no tool is allowed yet."""
        settings = cls.for_conversation(conversation)
        settings.conversation, settings.allowed_tools = copy, None
        settings.store()

    @property
    def is_new(self) -> bool:
        """Whether no row is stored."""
        return self._state.adding

    @property
    def preset(self) -> Preset | None:
        return self.preset_version.target if self.preset_version else None

    def is_readable(self, user: User) -> bool:
        """Whether the person may read, and so change, what the chat has of its preset."""
        return self.preset is None or self.preset.is_readable(user)

    @property
    def instructions(self) -> str:
        """The system prompt: the chat's own, or else the preset's."""
        if self.system_prompt is None:
            return self.preset_version.system_prompt if self.preset_version else ""
        return self.system_prompt

    def system_message(
        self, user: User, project: Project | None, *, takes_memory: bool = True
    ) -> str:
        """Return all that is sent before the messages: the instructions, those of the project, and
        the person's memory."""
        takes_memory &= self.preset_version is None or self.preset_version.takes_memory
        parts = (
            self.instructions,
            project.instructions if project else "",
            Memory.load_instructions(user.pk) if takes_memory else "",
        )
        return "\n\n".join(part for part in parts if part.strip())

    @property
    def sent_parameters(self) -> dict[str, object]:
        """The parameters: the chat's own, or else the preset's."""
        if self.parameters is None:
            return self.preset_version.parameters if self.preset_version else {}
        return self.parameters  # type: ignore[no-any-return]

    @property
    def differs_from_preset(self) -> bool:
        """Whether the chat differs from its preset."""
        own = self.system_prompt is not None or self.parameters is not None
        return self.preset_version is not None and own

    @property
    def is_behind(self) -> bool:
        """Whether the preset has a newer version that new chats get."""
        preset = self.preset
        if preset is None or self.preset_version is None or preset.deleted_at:
            return False
        return preset.version > self.preset_version.number

    @property
    def own(self) -> dict[str, Any]:
        """The settings that the chat does not take from its preset."""
        return {name: getattr(self, name) for name in self.OWN_FIELDS}

    @own.setter
    def own(self, values: Mapping[str, Any]) -> None:
        for name in self.OWN_FIELDS:
            setattr(self, name, values.get(name))

    def for_model(self, model: ModelChoice | str | None) -> "ChatSettings":
        """Return the settings that hold for a model; without one, those of all others."""
        own = (self.by_model or {}).get(str(model))
        if own is None:
            return self
        parameters = {**self.sent_parameters, **own.get("parameters", {})}
        settings = copy(self)
        settings.system_prompt = own.get("system_prompt", self.system_prompt)
        settings.parameters = {
            name: value for name, value in parameters.items() if value is not None
        }
        return settings

    def set_own(
        self,
        system_prompt: str,
        parameters: Mapping[str, object],
        model: ModelChoice | None = None,
    ) -> None:
        """Set the chat's own values, or a model's; equal ones count as those of the preset, or of
        the chat. Raises `Refused`."""
        if model:
            self._set_for_model(str(model), system_prompt, parameters)
            return
        self.system_prompt = self.parameters = None
        if system_prompt != self.instructions:
            self.system_prompt = system_prompt
        if parameters != self.sent_parameters:
            self.parameters = parameters

    def choose(self, chosen: Mapping[str, object]) -> None:
        """Set some of the parameters for models without their own; None unsets one."""
        self.set_own(self.instructions, clean_parameters({**self.sent_parameters, **chosen}))

    @property
    def own_choices(self) -> str:
        """The models' own settings that the composer has controls for, as JSON of fields."""
        fields, choices = {True: "on", False: "off", None: ""}, {}
        for model, own in (self.by_model or {}).items():
            chosen = [
                (name, value)
                for name, value in own.get("parameters", {}).items()
                if name in COMPOSER_PARAMETERS
            ]
            choices[model] = {name: fields.get(value, value) for name, value in chosen}
        return json.dumps(choices)

    @property
    def digest(self) -> str:
        """Changes with what is set."""
        version = self.preset_version.pk if self.preset_version else None
        return compute_digest(version, self.own, self.allowed_tools, self.off_servers)

    def _set_for_model(
        self, model: str, system_prompt: str, parameters: Mapping[str, object]
    ) -> None:
        own: dict[str, object] = {}
        if system_prompt != self.instructions:
            own["system_prompt"] = system_prompt
        common = self.sent_parameters
        if parameters != common:
            names = [*common, *(name for name in parameters if name not in common)]
            own["parameters"] = {
                name: parameters.get(name)
                for name in names
                if parameters.get(name) != common.get(name)
            }
        others = {
            other_model: values
            for other_model, values in (self.by_model or {}).items()
            if other_model != model
        }
        if own and len(others) >= MAX_MODELS:
            raise Refused(TOO_MANY)
        self.by_model = (others | {model: own} if own else others) or None

    def check_right(self, user: User) -> None:
        """Raise `Refused` if the person may not use the chat's preset any more."""
        if (preset := self.preset) and preset.find_level(user) is None:
            raise Refused(NOT_OPEN.format(preset.name))

    @staticmethod
    def allows(conversation: UUID, tool: str, definition: str) -> bool:
        """Whether the person always allows the tool in this chat, as it is defined now."""
        stored = ChatSettings.objects.filter(pk=conversation)
        allowed = stored.values_list("allowed_tools", flat=True).first() or {}
        return allowed.get(tool) == definition

    def switch_off(self, servers: Iterable[int]) -> None:
        """Let models call tools of all other servers only, by the servers' primary keys."""
        self.off_servers = sorted({*servers}) or None

    def ask_before(self, tool: str) -> None:
        """No longer allow the tool always, and save that."""
        allowed = {**(self.allowed_tools or {})}
        allowed.pop(tool, None)
        self.allowed_tools = allowed or None
        self.store()

    def store(self) -> None:
        """Save what is set, or delete the row if nothing is."""
        own = self.system_prompt or self.parameters or self.by_model
        if self.preset_version or own or self.allowed_tools or self.off_servers:
            content = {name: getattr(self, name) for name in self.STORED_FIELDS}
            ChatSettings.objects.update_or_create(conversation=self.conversation, defaults=content)
        elif not self.is_new:
            self.delete()


@dataclass(frozen=True)
class ParameterChoice:
    """A choice at the composer of an existing chat; None unsets a parameter."""

    conversation: UUID
    parameters: Mapping[str, object]
    off_servers: Sequence[int] | None = None  # as in `ChatSettings`; None leaves them as they are

    def store(self, user: User) -> None:
        """Apply it from the next prompt on; raises `Refused`."""
        with transaction.atomic():
            settings = ChatSettings.for_conversation(
                Conversation.get_for_update(user, self.conversation)
            )
            if self.off_servers is not None:
                settings.switch_off(self.off_servers)
            if self.parameters:
                if not settings.is_readable(user):
                    raise Refused(NOT_READABLE)
                settings.choose(self.parameters)
            settings.store()


@dataclass(frozen=True)
class ToolAllowance:
    """A tool that a person always allows in a chat, as long as its definition stays the same."""

    conversation: UUID
    tool: str
    definition: str

    def store(self, user: User) -> None:
        """Let it run without a question from now on; raises `Refused`."""
        with transaction.atomic():
            settings = ChatSettings.for_conversation(
                Conversation.get_for_update(user, self.conversation)
            )
            allowed = {**(settings.allowed_tools or {}), self.tool: self.definition}
            if len(allowed) > MAX_TOOLS:
                raise Refused(TOO_MANY_TOOLS)
            settings.allowed_tools = allowed
            settings.store()


def compute_digest(*content: Any) -> str:
    """Return a digest of settings, equal for equal ones."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_BY_CONVERSATION = Query(
    lambda conversation: (
        ChatSettings.objects.filter(pk=conversation)
        .select_related("preset_version__target")
        .order_by()
    ),
    Conversation._meta.pk,
)
