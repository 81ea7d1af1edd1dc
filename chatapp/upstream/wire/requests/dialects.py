"""Dialects of upstreams that depart from the common form. Each builds its own requests.

To add a gateway, add a record here and a recording in `tests/recordings/`. Its `Marks` describe
its streams (which chunk has the usage, the prefix of response ids) and serve only to recognise it:
every stream is decoded the same way. So `auto` works with any upstream; a named dialect only leaves
out request options that the upstream does not need, and spells parameters as it does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from chatapp.upstream.wire.requests.gateways import gateway_at
from chatapp.upstream.wire.requests.spellings import (
    COMMON_SPELLING,
    DASHSCOPE_SPELLING,
    MISTRAL_SPELLING,
    OPENAI_SPELLING,
    OPENROUTER_SPELLING,
    Spelling,
)

ChatMessage = Mapping[str, object]  # {"role": "user", "content": "…"}

RESERVED_PARAMETERS = frozenset({"model", "messages", "stream"})  # set only by the app


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Tools and parameters of a request, such as `temperature`.

    Parameters are merged into the body unchanged; `RESERVED_PARAMETERS` are overwritten.
    """

    tools: Sequence[Mapping[str, object]] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def tool_names(self) -> frozenset[str]:
        functions = [tool.get("function") for tool in self.tools]
        return frozenset(
            str(function["name"]) for function in functions if isinstance(function, dict)
        )

    @property
    def choices(self) -> int:
        """The number of choices requested (`n`)."""
        n = self.parameters.get("n")
        return n if isinstance(n, int) and n > 0 else 1


NO_OPTIONS = RequestOptions()


class UsageHabit(Enum):
    """The condition on which an upstream reports usage."""

    ALWAYS = "in every stream, asked for or not"
    OPT_IN = "when asked for (stream_options)"
    NEVER = "never"


class UsageChunk(Enum):
    """The shape of the chunk that carries the usage."""

    NONE = "no chunk"
    WITHOUT_CHOICES = "a chunk without choices"
    EMPTY_CHOICES = "a chunk whose choices are empty"
    WITH_CHOICE = "a chunk with a choice"


@dataclass(frozen=True, slots=True)
class Marks:
    """Features of a stream that identify a dialect; None and "" match any stream."""

    usage: UsageHabit
    usage_chunk: UsageChunk | None = None
    nulls_usage: bool | None = None  # all other chunks have `usage: null`
    id_prefix: str = ""  # of the response id

    def matches(self, marks: "Marks") -> bool:
        """Whether a stream with the features `marks` (all of them known) matches these marks."""
        return (
            self.usage is marks.usage
            and self.usage_chunk in (None, marks.usage_chunk)
            and self.nulls_usage in (None, marks.nulls_usage)
            and marks.id_prefix.startswith(self.id_prefix)
        )


@dataclass(frozen=True, slots=True)
class Dialect:
    """The deviations of an upstream from the common form; `marks` is None if it is generic."""

    name: str
    label: str
    marks: Marks | None = None
    spelling: Spelling = COMMON_SPELLING
    hosts: tuple[str, ...] = ()  # whose upstreams spell parameters so, whatever their dialect

    @property
    def always_reports_usage(self) -> bool:
        return self.marks is not None and self.marks.usage is UsageHabit.ALWAYS

    def is_at(self, host: str) -> bool:
        return any(f".{host}".endswith(f".{known_host}") for known_host in self.hosts)

    def request_body(
        self,
        model: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions = NO_OPTIONS,
        takes_usage_option: bool = True,
    ) -> dict[str, object]:
        """Build the JSON body of `POST /v1/chat/completions`."""
        body: dict[str, object] = {}
        if takes_usage_option and not self.always_reports_usage:
            body["stream_options"] = {"include_usage": True}
        body |= options.parameters
        if options.tools:  # beside those that the gateway runs itself
            body["tools"] = [*_ensure_list(body.get("tools")), *options.tools]
        return body | {"model": model, "messages": list(messages), "stream": True}


AUTO = Dialect("auto", "Automatic")
OPENTOKEN = Dialect("opentoken", "OpenToken", Marks(UsageHabit.ALWAYS, UsageChunk.EMPTY_CHOICES))
OPENAI = Dialect(
    "openai",
    "OpenAI",
    Marks(UsageHabit.OPT_IN, UsageChunk.EMPTY_CHOICES, nulls_usage=True),
    OPENAI_SPELLING,
    ("openai.com", "openai.azure.com"),
)
AIVENE = Dialect("aivene", "Aivene", Marks(UsageHabit.OPT_IN, id_prefix="ilbs_"))
AIGATEWAY = Dialect("aigateway", "AI Gateway", Marks(UsageHabit.ALWAYS, UsageChunk.WITHOUT_CHOICES))
OPENROUTER = Dialect(
    "openrouter", "OpenRouter", spelling=OPENROUTER_SPELLING, hosts=("openrouter.ai",)
)
MISTRAL = Dialect("mistral", "Mistral", spelling=MISTRAL_SPELLING, hosts=("mistral.ai",))
DASHSCOPE = Dialect(
    "dashscope",
    "DashScope (Qwen)",
    spelling=DASHSCOPE_SPELLING,
    hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
)

_ALL = (AUTO, OPENTOKEN, OPENAI, AIVENE, AIGATEWAY, OPENROUTER, MISTRAL, DASHSCOPE)
DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})


def find_spelling(dialect: str, host: str) -> Spelling:
    """Return how an upstream spells parameters, by its dialect or else by its host."""
    named = DIALECTS.get(dialect, AUTO)
    if named.spelling is not COMMON_SPELLING:
        return named.spelling
    spellings = (dialect.spelling for dialect in _ALL if dialect.is_at(host))
    return next(spellings, gateway_at(host).spelling)


def _ensure_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def find_dialect(marks: Marks) -> Dialect:
    """Return the first dialect that matches the features of a stream, or `auto`."""
    matching = (
        dialect for dialect in DIALECTS.values() if dialect.marks and dialect.marks.matches(marks)
    )
    return next(matching, AUTO)
