"""Upstreams: their addresses, keys and models, as an administrator set them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Self, assert_never
from urllib.parse import urlsplit

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Exists

from chatapp.db.secrets import SecretField, UnreadableSecret
from chatapp.db.statements import Query
from chatapp.models.accounts.access_rules import (
    NOT_YOURS,
    AccessRule,
    model_is_open,
    server_is_open,
)
from chatapp.models.accounts.users import User
from chatapp.models.platform.concession_settings import ConcessionSettings
from chatapp.models.platform.context_settings import ContextSettings
from chatapp.models.platform.image_settings import ImageSettings
from chatapp.models.platform.lessons import (
    ConcessionLesson,
    ContextLesson,
    FieldsLesson,
    ImagesLesson,
    Lesson,
    UsageOptionLesson,
)
from chatapp.models.platform.parameter_settings import ParameterSettings
from chatapp.models.platform.tool_servers import ToolServer
from chatapp.models.platform.upstream_validators import (
    validate_base_url,
    validate_offered_models,
    validate_parameters,
)
from chatapp.models.refusals import Refused
from chatapp.parameters.table import MAX_OUTPUT
from chatapp.upstream.wire.requests.dialects import (
    AUTO,
    DIALECTS,
)
from chatapp.upstream.wire.requests.gateways import Gateway, gateway_at

DEMO = "Demo"  # the name of the built-in upstream, which the environment connects
SILENCE_SECONDS = 300
LEARNED_FIELDS = (  # what `Upstream.learn` changes
    *("takes_usage_option", "image_refusals", "parameter_refusals", "context_refusals"),
    "model_concessions",
)
UNBOUNDED_OUTPUT = (0, 1, MAX_OUTPUT)
NONE_GIVEN = "You don't have access to any model. Ask your administrator for one."
NOT_OFFERED = "This model is no longer available. Choose another."


@dataclass(frozen=True)
class ModelChoice:
    """A model that a person chose."""

    upstream: int  # its primary key
    name: str

    def __str__(self) -> str:
        """Return its value in the pages' choices of models."""
        return f"{self.upstream}/{self.name}"


class Upstream(ImageSettings, ContextSettings, ConcessionSettings, ParameterSettings):
    """A server that speaks `POST {base_url}/chat/completions`, and the key it wants."""

    name = models.CharField(max_length=100)
    base_url = models.CharField(
        "base URL",
        max_length=500,
        validators=[validate_base_url],
        help_text="Up to and including /v1, for example https://host/v1.",
    )
    api_key = SecretField("API key", blank=True, null=True)
    enabled = models.BooleanField(
        default=True, help_text="People can choose its models in the chat."
    )
    offered_models = models.TextField(
        "models",
        blank=True,
        validators=[validate_offered_models],
        help_text="One per line, in the order in which people see them, optionally with a name: "
        "gpt-4o = The fast one. If empty, all models that the upstream lists.",
    )
    # What an administrator calls its models and says about them, by id; None if nothing ever was.
    model_names = models.JSONField(null=True, editable=False)
    model_descriptions = models.JSONField(null=True, editable=False)
    from_environment = models.BooleanField(default=False, editable=False)
    position = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    # When its address or key was last entered, or a test of it succeeded; earlier failures say
    # nothing about it now.
    connected_at = models.DateTimeField(null=True, editable=False)

    dialect = models.CharField(
        max_length=20,
        choices=[(dialect.name, dialect.label) for dialect in DIALECTS.values()],
        default=AUTO.name,
        help_text="Automatic works with any upstream; naming the server avoids fields that it "
        "does not need.",
    )
    parameters = models.JSONField(
        "request parameters",
        default=dict,
        blank=True,
        validators=[validate_parameters],
        help_text='Sent with every request, for example {"temperature": 0.2, "n": 2, '
        '"logprobs": true}.',
    )
    offers_tools = models.BooleanField(
        default=True, help_text="Its models may call the built-in tool and those of tool servers."
    )
    offers_clock = models.BooleanField(
        "offer the clock",
        default=True,
        db_default=True,
        help_text="The built-in tool that returns the date and time; it is offered in every "
        "request that offers tools.",
    )
    drains_stopped = models.BooleanField(
        "read on after Stop",
        default=False,
        help_text="Read on after Stop to get the exact usage. This costs tokens that nobody reads.",
    )
    silence_seconds = models.PositiveIntegerField(
        "longest silence",
        default=SILENCE_SECONDS,
        db_default=SILENCE_SECONDS,
        validators=[MinValueValidator(5), MaxValueValidator(86400)],
        help_text="Seconds without a byte after which a reply ends as timed out. Models that "
        "think for long without sending anything need more. The page shows the time, and people "
        "can stop.",
    )
    # False once it has refused `stream_options`.
    takes_usage_option = models.BooleanField(default=True, editable=False)

    class Meta:
        ordering = ["position", "-from_environment", "name"]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def get_for_choice(choice: ModelChoice, person: int) -> "Upstream":
        """Return the upstream of a model that is offered to the person with this primary key.

        Raises `Refused` if it is disabled, doesn't offer the model, or isn't open to the person.
        """
        upstream = _ENABLED.first(choice.name, person, choice.upstream)
        named_models = upstream.named_models if upstream else ()
        if upstream is None or (named_models and choice.name not in named_models):
            raise Refused(NOT_OFFERED)
        if not vars(upstream)["is_open"]:
            raise Refused(NOT_YOURS)
        if upstream.secret_problem:
            raise Refused(upstream.secret_problem)
        return upstream

    @staticmethod
    def all_enabled(person: int | None = None) -> "list[Upstream]":
        """Return the enabled upstreams, in the order in which people see them.

        For a person, `calls_servers` says whether its models may call tools of any server.
        """
        return [*_ALL_ENABLED.all(person)]

    @property
    def calls_servers(self) -> bool:
        """Whether it offers tools of servers that are open to the person of `all_enabled`."""
        return self.offers_tools and bool(vars(self).get("has_servers"))

    @classmethod
    def put_in_order(cls, pks: Sequence[int]) -> None:
        """Show their models in this order, and after them those of all others."""
        upstreams_by_key = {upstream.pk: upstream for upstream in cls.objects.defer("api_key")}
        first = [upstreams_by_key.pop(pk) for pk in pks if pk in upstreams_by_key]
        in_order = [*first, *upstreams_by_key.values()]
        for position, upstream in enumerate(in_order):
            upstream.position = position
        cls.objects.bulk_update(in_order, ["position"])

    @property
    def named_models(self) -> Mapping[str, str]:
        """The models that the administrator listed, in that order, each with its display name or
        "". Empty if all models that the upstream lists are offered."""
        return _parse_offered_models(self.offered_models)

    @property
    def display_names(self) -> Mapping[str, str]:
        """The names that an administrator gave its models, by id."""
        listed = ((model, name) for model, name in self.named_models.items() if name)
        return {**(self.model_names or {}), **dict(listed)}

    @property
    def descriptions(self) -> Mapping[str, str]:
        """The descriptions that an administrator gave its models, by id."""
        return self.model_descriptions or {}

    def apply_lesson(self, model: str, lesson: Lesson) -> str:
        """Note on this object what a request to a model taught; return the field that changed."""
        match lesson:
            case UsageOptionLesson():
                self.takes_usage_option = False
                return "takes_usage_option"
            case ImagesLesson():
                self.learn_image_refusal(model)
                return "image_refusals"
            case FieldsLesson(fields):
                self.learn_refusals(model, fields)
                return "parameter_refusals"
            case ContextLesson(tokens):
                self.learn_context_refusal(model, tokens)
                return "context_refusals"
            case ConcessionLesson(concession):
                self.learn_concession(model, concession)
                return "model_concessions"
        assert_never(lesson)

    @classmethod
    def learn(cls, pk: int, model: str, lessons: Iterable[Lesson]) -> None:
        """Store what requests to a model taught, for all processes."""
        with transaction.atomic():
            rows = cls.objects.select_for_update(no_key=True).filter(pk=pk).order_by()
            for upstream in rows.only(*LEARNED_FIELDS):
                before = {name: getattr(upstream, name) for name in LEARNED_FIELDS}
                fields = {upstream.apply_lesson(model, lesson) for lesson in lessons}
                # Saving makes all processes check everybody's access again.
                changed = [name for name in fields if getattr(upstream, name) != before[name]]
                upstream.save(update_fields=changed)

    @property
    def gateway(self) -> Gateway:
        """The public gateway at its address, as far as the app knows it."""
        return gateway_for(self.base_url)

    @property
    def is_demo(self) -> bool:
        return self.from_environment and self.name == DEMO

    @property
    def secret_problem(self) -> str:
        """The reason why its key can't be used, or ""."""
        if not isinstance(self.api_key, UnreadableSecret):
            return ""
        return (
            f"The key of {self.name} can't be read, because SECRET_KEY has changed since it was "
            "saved. An administrator must enter it again."
        )

    @classmethod
    def connect_environment(cls, name: str, base_url: str, api_key: str) -> None:
        """Store the environment's upstream under this name, and disable its others.

        The demo is enabled only if no other upstream is, or if it was enabled already.
        """
        mine = cls.objects.filter(from_environment=True)
        mine.exclude(name=name).update(enabled=False)
        answering = cls.objects.filter(enabled=True)
        is_on = answering.filter(from_environment=True, name=name).exists()
        mine.update_or_create(
            from_environment=True,
            name=name,
            defaults={
                "base_url": base_url,
                "api_key": api_key,
                "enabled": is_on or name != DEMO or not answering.exists(),
            },
        )

    @classmethod
    def switch_demo_off(cls) -> Self | None:
        """Disable the demo if one real upstream is enabled; return the demo if it was enabled.

        After that, the demo is only enabled if somebody wants it beside real ones.
        """
        is_demo = models.Q(from_environment=True, name=DEMO)
        demo = cls.objects.filter(is_demo, enabled=True)
        enabled_demo = demo.first()
        if not enabled_demo or cls.objects.filter(~is_demo, enabled=True).count() != 1:
            return None
        demo.update(enabled=False)
        return enabled_demo


# Prepared: saves 1.2 ms of each turn.
_ENABLED = Query(
    lambda model, person, pk: (
        Upstream.objects.filter(pk=pk, enabled=True)
        .annotate(is_open=model_is_open(model, person))
        .order_by()
    ),
    AccessRule._meta.get_field("model"),
    User._meta.pk,
    Upstream._meta.pk,
)

# Prepared: saves 0.2 ms of each chat page.
_ALL_ENABLED = Query(
    lambda person: Upstream.objects.filter(enabled=True).annotate(
        has_servers=Exists(ToolServer.objects.filter(server_is_open(person), enabled=True))
    ),
    User._meta.pk,
)


@lru_cache(maxsize=64)
def gateway_for(base_url: str) -> Gateway:
    return gateway_at(urlsplit(base_url).hostname or "")


@lru_cache(maxsize=64)  # each thread page asks once per reply
def _parse_offered_models(lines: str) -> Mapping[str, str]:
    names_by_model: dict[str, str] = {}
    for line in lines.splitlines():
        models, _, name = line.partition("=")
        names_by_model |= dict.fromkeys(models.split(), name.strip())
    return MappingProxyType(names_by_model)
