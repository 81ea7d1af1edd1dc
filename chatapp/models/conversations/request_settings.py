"""What the requests of a chat's replies were sent with besides messages."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.db import models
from django.utils.functional import cached_property

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chat_settings import ChatSettings, digest_of
from chatapp.models.conversations.conversation import Conversation
from chatapp.models.library.file_sets import PresetFile, parts_in
from chatapp.models.library.presets import Preset, PresetVersion
from chatapp.models.platform.upstreams import ModelChoice
from chatapp.upstream.wire.content import Part
from chatapp.upstream.wire.history import History


class RequestSettingsQuerySet(models.QuerySet["RequestSettings"]):
    def with_preset_name(self) -> Self:
        """Join the name and the number of the preset's version, and the key of its files."""
        shown = [f"preset_version__{name}" for name in ("name", "number", "file_set")]
        found = self.select_related("preset_version")
        return found.only("preset_version", "instructions", "parameters", *shown)


class RequestSettings(models.Model):
    """What the requests of one or more replies had besides messages. Never changed.

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

    COPIED = ("preset_version_id", "has_preset", "instructions", "parameters")

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
    def now(cls, settings: ChatSettings, user: User) -> "RequestSettings | None":
        """Return what a request of this chat has now; None if there is nothing besides messages.

        If no earlier reply was asked with the same, it is not stored yet. Raises `Refused`.
        """
        settings.check_right(user)
        conversation, version = settings.conversation, settings.preset_version
        instructions = settings.system_message(
            user, conversation.project_of(user), takes_memory=not conversation.is_temporary
        )
        parameters = settings.sent_parameters
        if not (version or instructions or parameters):
            return None
        digest = digest_of(version.pk if version else None, instructions, parameters)
        found = _KNOWN.first(conversation.pk, digest) or cls(
            conversation=conversation,
            digest=digest,
            has_preset=version is not None,
            instructions=instructions,
            parameters=parameters,
        )
        found.preset_version = version
        found.load_files()
        return found

    @classmethod
    def of_each(
        cls, settings: ChatSettings, models: Iterable[ModelChoice], user: User
    ) -> "list[RequestSettings | None]":
        """Return what a request to each of these models has now. Equal ones are one object."""
        own = settings.by_model or {}
        keys = [model if str(model) in own else None for model in models]
        found = {key: cls.now(settings.for_model(key), user) for key in dict.fromkeys(keys)}
        known = {one.digest: one for one in found.values() if one}
        return [one and known[one.digest] for one in map(found.get, keys)]

    @classmethod
    def of_script(
        cls, conversation: Conversation, instructions: str, parameters: Mapping[str, object]
    ) -> "RequestSettings | None":
        """Store and return what a request over the API had, in a new conversation."""
        if not (instructions or parameters):
            return None
        return cls.objects.create(
            conversation=conversation,
            digest=digest_of(None, instructions, parameters),
            instructions=instructions,
            parameters=parameters,
        )

    @classmethod
    def imported(
        cls, conversation: Conversation, instructions: str, parameters: Mapping[str, object]
    ) -> "RequestSettings":
        """Return the conversation's row with this content. It is stored if there is none."""
        content = {"instructions": instructions, "parameters": parameters}
        digest = digest_of(None, instructions, parameters)
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
        for one in cls.objects.filter(pk__in=pks) if pks else ():
            content = {name: getattr(one, name) for name in cls.COPIED}
            copy, _ = cls.objects.get_or_create(
                conversation=conversation, digest=one.digest, defaults=content
            )
            copies[one.pk] = copy.pk
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
        return parts_in(self.preset_version.file_set_id) if self.preset_version else []

    def load_files(self) -> None:
        """Read `file_parts` now, because the event loop can't."""
        _ = self.file_parts

    def sent_with(self, messages: History) -> History:
        """Return all that a request has: the system message, the preset's files, the messages."""
        messages = messages.with_files(self.file_parts)
        if not self.instructions:
            return messages
        system = History.of([{"role": "system", "content": self.instructions}])
        return system.followed_by(messages)

    def is_readable(self, user: User) -> bool:
        """Whether the person may read it: not if they may only use its preset."""
        return not self.has_preset or (self.preset is not None and self.preset.is_readable(user))

    def offers(self, tool: int | str) -> bool:
        """Whether the preset offers a tool server, by its primary key, or the `CLOCK`."""
        return self.preset_version is None or self.preset_version.offers(tool)


_KNOWN = Query(
    lambda conversation, digest: RequestSettings.objects.filter(
        conversation=conversation, digest=digest
    ).order_by(),
    Conversation._meta.pk,
    RequestSettings._meta.get_field("digest"),
)
