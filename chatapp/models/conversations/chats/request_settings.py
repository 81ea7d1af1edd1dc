"""The content of the requests of a chat's replies besides messages."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.db import models
from django.utils.functional import cached_property

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.chat_settings import ChatSettings, compute_digest
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.library.file_sets import PresetFile, load_parts
from chatapp.models.library.presets import Preset, PresetVersion
from chatapp.models.platform.upstreams import ModelChoice
from chatapp.upstream.wire.requests.content import Part
from chatapp.upstream.wire.requests.history import History


class RequestSettingsQuerySet(models.QuerySet["RequestSettings"]):
    def with_preset_name(self) -> Self:
        """Join the name and the number of the preset's version, and the key of its files."""
        preset_fields = [f"preset_version__{name}" for name in ("name", "number", "file_set")]
        rows = self.select_related("preset_version")
        return rows.only("preset_version", "instructions", "parameters", *preset_fields)


class RequestSettings(models.Model):
    """The content of the requests of one or more replies besides messages. Never changed.

    Shows later what a reply was really asked with, whatever was changed since.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)  # of the other fields
    preset_version = models.ForeignKey(
        PresetVersion, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    has_preset = models.BooleanField(default=False)  # even if that is deleted with its owner
    instructions = models.TextField(blank=True)  # the system message
    parameters = models.JSONField(default=dict, blank=True)

    COPIED_FIELDS = ("preset_version_id", "has_preset", "instructions", "parameters")

    objects: ClassVar[RequestSettingsQuerySet] = models.Manager.from_queryset(
        RequestSettingsQuerySet
    )()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "digest"], name="one_row_for_equal_requests"
            )
        ]

    def __str__(self) -> str:
        return f"Request settings in {self.conversation}"

    @classmethod
    def for_chat(cls, settings: ChatSettings, user: User) -> "RequestSettings | None":
        """Return what a request of this chat has now; None if there is nothing besides messages.

        If no earlier reply was asked with the same, it is not stored yet. Raises `Refused`.
        """
        settings.check_right(user)
        conversation, version = settings.conversation, settings.preset_version
        instructions = settings.system_message(
            user, conversation.get_open_project(user), takes_memory=not conversation.is_temporary
        )
        parameters = settings.sent_parameters
        if not (version or instructions or parameters):
            return None
        digest = compute_digest(version.pk if version else None, instructions, parameters)
        request_settings = _BY_DIGEST.first(conversation.pk, digest) or cls(
            conversation=conversation,
            digest=digest,
            has_preset=version is not None,
            instructions=instructions,
            parameters=parameters,
        )
        request_settings.preset_version = version
        request_settings.load_files()
        return request_settings

    @classmethod
    def for_models(
        cls, settings: ChatSettings, models: Iterable[ModelChoice], user: User
    ) -> "list[RequestSettings | None]":
        """Return what a request to each of these models has now. Equal ones are one object."""
        own = settings.by_model or {}
        keys = [model if str(model) in own else None for model in models]
        by_model = {key: cls.for_chat(settings.for_model(key), user) for key in dict.fromkeys(keys)}
        by_digest = {
            request_settings.digest: request_settings
            for request_settings in by_model.values()
            if request_settings
        }
        return [
            request_settings and by_digest[request_settings.digest]
            for request_settings in map(by_model.get, keys)
        ]

    @classmethod
    def create_for_script(
        cls, conversation: Conversation, instructions: str, parameters: Mapping[str, object]
    ) -> "RequestSettings | None":
        """Store and return what a request over the API had, in a new conversation."""
        if not (instructions or parameters):
            return None
        return cls.objects.create(
            conversation=conversation,
            digest=compute_digest(None, instructions, parameters),
            instructions=instructions,
            parameters=parameters,
        )

    @classmethod
    def get_or_create_imported(
        cls, conversation: Conversation, instructions: str, parameters: Mapping[str, object]
    ) -> "RequestSettings":
        """Return the conversation's row with this content. It is stored if there is none."""
        content = {"instructions": instructions, "parameters": parameters}
        digest = compute_digest(None, instructions, parameters)
        rows = cls.objects
        return rows.get_or_create(conversation=conversation, digest=digest, defaults=content)[0]

    def store(self) -> None:
        """Insert it if it is new."""
        if self._state.adding:
            self.save(force_insert=True)

    @classmethod
    def copy(cls, pks: set[UUID], conversation: Conversation) -> Mapping[UUID | None, UUID]:
        """Copy these rows to another conversation, unless it has them; return its rows' ids by
        the old ones."""
        copies: dict[UUID | None, UUID] = {}
        for row in cls.objects.filter(pk__in=pks) if pks else ():
            content = {name: getattr(row, name) for name in cls.COPIED_FIELDS}
            copy, _ = cls.objects.get_or_create(
                conversation=conversation, digest=row.digest, defaults=content
            )
            copies[row.pk] = copy.pk
        return copies

    @property
    def preset(self) -> Preset | None:
        return self.preset_version.target if self.preset_version else None

    @property
    def files(self) -> list[PresetFile]:
        """The files of the preset, as pages show them."""
        return self.preset_version.files if self.preset_version else []

    @cached_property
    def file_parts(self) -> list[Part]:
        """The content parts of the preset's files."""
        return load_parts(self.preset_version.file_set_id) if self.preset_version else []

    def load_files(self) -> None:
        """Read `file_parts` now, because the event loop can't."""
        _ = self.file_parts

    def add_to_history(self, messages: History) -> History:
        """Return all that a request has: the system message, the preset's files, the messages."""
        messages = messages.with_files(self.file_parts)
        if not self.instructions:
            return messages
        system = History.of([{"role": "system", "content": self.instructions}])
        return system.concatenate(messages)

    def is_readable(self, user: User) -> bool:
        """Whether the person may read it: not if they may only use its preset."""
        return not self.has_preset or (self.preset is not None and self.preset.is_readable(user))

    def offers(self, tool: int | str) -> bool:
        """Whether the preset offers a tool server, by its primary key, or the `CLOCK`."""
        return self.preset_version is None or self.preset_version.offers(tool)


_BY_DIGEST = Query(
    lambda conversation, digest: RequestSettings.objects.filter(
        conversation=conversation, digest=digest
    ).order_by(),
    Conversation._meta.pk,
    RequestSettings._meta.get_field("digest"),
)
