"""Presets: a system prompt, a model, parameters and tools, from which people start chats.

A chat refers to the version of a preset that it was started from. So a change never changes a chat,
and a version goes only once no chat has it.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Case, When

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User
from chatapp.models.library.file_sets import FileSet, PresetFile, load_files
from chatapp.models.library.sharing import Grant
from chatapp.models.library.versions import Version, Versioned, VersionedQuerySet
from chatapp.models.platform.upstreams import ModelChoice, Upstream

MAX_NAME_LENGTH = 80
MAX_DESCRIPTION_LENGTH = 300
MAX_SYSTEM_PROMPT_LENGTH = 20_000  # characters; they are sent with every turn
MAX_SUGGESTIONS, MAX_SUGGESTION_LENGTH = 6, 200
MAX_PRESETS = 200  # that a person owns
MAX_SHOWN = 6  # on the page of a new chat
MAX_LISTED = 200  # in a list to choose from
CLOCK = "clock"  # the built-in tool among `tools`


class Icon(models.TextChoices):
    """Symbols of static/preset-icons.svg, where their names begin with “icon-”."""

    SLIDERS = "sliders", "Sliders"
    PENCIL = "pencil", "Pencil"
    FILE = "file-text", "Page"
    BOOK = "book-open", "Book"
    LANGUAGES = "languages", "Languages"
    MAIL = "mail", "Letter"
    MESSAGE = "message", "Speech bubble"
    MEGAPHONE = "megaphone", "Megaphone"
    SEARCH = "search", "Magnifying glass"
    GLOBE = "globe", "Globe"
    LIGHT_BULB = "lightbulb", "Light bulb"
    GRADUATION_CAP = "graduation-cap", "Graduation cap"
    FLASK = "flask", "Flask"
    CODE = "code", "Code"
    TERMINAL = "terminal", "Terminal"
    WRENCH = "wrench", "Wrench"
    DATABASE = "database", "Database"
    TABLE = "table", "Table"
    CHART = "chart", "Chart"
    CALCULATOR = "calculator", "Calculator"
    CALENDAR = "calendar", "Calendar"
    BRIEFCASE = "briefcase", "Briefcase"
    SCALES = "scale", "Scales"
    PEOPLE = "users", "People"


class PresetContent(models.Model):
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    icon = models.CharField(max_length=20, choices=Icon, default=Icon.SLIDERS)
    description = models.CharField(max_length=MAX_DESCRIPTION_LENGTH, blank=True)
    system_prompt = models.TextField(max_length=MAX_SYSTEM_PROMPT_LENGTH, blank=True)
    upstream = models.ForeignKey(Upstream, models.SET_NULL, null=True, blank=True, related_name="+")
    model = models.CharField(max_length=200, blank=True)  # "" leaves the choice to the person
    parameters = models.JSONField(default=dict, blank=True)  # by `clean_parameters`
    # Primary keys of tool servers, and `CLOCK`; None offers all that the model is offered anyway.
    tools = models.JSONField(null=True, blank=True)
    suggestions = models.JSONField(default=list, blank=True)  # texts for an empty chat
    takes_memory = models.BooleanField(default=True)  # whether it sends the person's `Memory`
    file_set = models.ForeignKey(FileSet, models.PROTECT, null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @property
    def preselected_model(self) -> ModelChoice | None:
        """The model of its chats; None if it leaves the choice or its upstream was deleted."""
        if self.upstream_id is None or not self.model:
            return None
        return ModelChoice(self.upstream_id, self.model)

    @property
    def files(self) -> list[PresetFile]:
        """The files that every chat with this content is sent."""
        return load_files(self.file_set_id)

    def offers(self, tool: int | str) -> bool:
        """Return whether its chats offer a tool server, by its primary key, or the `CLOCK`."""
        return self.tools is None or tool in self.tools


class PresetQuerySet(VersionedQuerySet["Preset"]):
    def with_file(self, file: PresetFile) -> "PresetQuerySet":
        """Presets that have this file in any version."""
        versions = PresetVersion.objects.filter(file_set=file.file_set_id)
        return self.filter(pk__in=versions.values("target"))

    def list_choices(self, user: User) -> "list[Preset]":
        """Return the names of those that a person may use, for a list to choose from."""
        return list(self.open_to(user).only("name")[:MAX_LISTED])


class Preset(PresetContent, Versioned):
    objects: ClassVar[PresetQuerySet] = models.Manager.from_queryset(PresetQuerySet)()  # type: ignore[assignment]
    NAME: ClassVar[str] = "name"
    CONTENT: ClassVar[tuple[str, ...]] = (
        *("name", "icon", "description", "system_prompt", "upstream_id", "model"),
        *("parameters", "tools", "suggestions", "takes_memory", "file_set_id"),
    )

    class Meta:
        ordering = ["name", "id"]

    @staticmethod
    def list_for_new_chat(user: User) -> "list[Preset]":
        """Return some presets for the page of a new chat, the person's own first."""
        return _FOR_NEW_CHAT.all(user.pk)


class PresetVersion(PresetContent, Version):
    target = models.ForeignKey(Preset, models.CASCADE, related_name="versions", db_index=False)

    class Meta(Version.Meta):
        pass


class PresetGrant(Grant):
    target = models.ForeignKey(Preset, models.CASCADE, related_name="grants", db_index=False)

    class Meta(Grant.Meta):
        pass


# Prepared: saves 1 ms of each page of a new chat.
_FOR_NEW_CHAT = Query(
    lambda user: (
        Preset.objects.open_to(user)
        .only("name", "icon", "description")
        .order_by(Case(When(owner=user, then=0), default=1), "-updated_at")[:MAX_SHOWN]
    ),
    User._meta.pk,
)
