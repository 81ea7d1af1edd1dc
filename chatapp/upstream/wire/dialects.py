"""How upstreams depart from the common form: one `Dialect` value each, and the request it makes.

A gateway is added by one record here and one recording in `tests/recordings/`. How it writes its
streams (which chunk has the usage, how it names a response) stands in its `Marks`, by which it is
recognised; nothing is read by them, since every stream is read the same way. So `auto` serves any
upstream; a named dialect spares it the options it does not need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

ChatMessage = Mapping[str, object]  # {"role": "user", "content": "…"}

RESERVED_PARAMETERS = frozenset({"model", "messages", "stream"})  # ours alone


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """What a request asks for besides a reply: tools, and parameters such as `temperature`.

    Parameters are merged into the body as they are; `RESERVED_PARAMETERS` among them are left out.
    """

    tools: Sequence[Mapping[str, object]] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def choices(self) -> int:
        """How many choices are asked for."""
        asked = self.parameters.get("n")
        return asked if isinstance(asked, int) and asked > 0 else 1


NO_OPTIONS = RequestOptions()


class UsageHabit(Enum):
    """When an upstream reports usage."""

    ALWAYS = "in every stream, asked for or not"
    OPT_IN = "when asked for (stream_options)"
    NEVER = "never"


class UsageChunk(Enum):
    """The form of the chunk that carries the usage."""

    NONE = "no chunk"
    WITHOUT_CHOICES = "a chunk without choices"
    EMPTY_CHOICES = "a chunk whose choices are empty"
    WITH_CHOICE = "a chunk with a choice"


@dataclass(frozen=True, slots=True)
class Marks:
    """How an upstream's streams look, by which its dialect is told; None and "" fit any stream."""

    usage: UsageHabit
    usage_chunk: UsageChunk | None = None
    nulls_usage: bool | None = None  # every other chunk has `usage: null`
    id_prefix: str = ""  # of the response's id

    def fit(self, seen: "Marks") -> bool:
        """Whether a stream that was `seen`, of which all is known, has these marks."""
        return (
            self.usage is seen.usage
            and self.usage_chunk in (None, seen.usage_chunk)
            and self.nulls_usage in (None, seen.nulls_usage)
            and seen.id_prefix.startswith(self.id_prefix)
        )


@dataclass(frozen=True, slots=True)
class Dialect:
    """One upstream's departures; without `marks`, those of no upstream in particular."""

    name: str
    label: str
    marks: Marks | None = None

    @property
    def always_reports_usage(self) -> bool:
        return self.marks is not None and self.marks.usage is UsageHabit.ALWAYS

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
        if options.tools:
            body["tools"] = list(options.tools)
        return body | {"model": model, "messages": list(messages), "stream": True}


AUTO = Dialect("auto", "Automatic")
OPENTOKEN = Dialect("opentoken", "OpenToken", Marks(UsageHabit.ALWAYS, UsageChunk.EMPTY_CHOICES))
OPENAI = Dialect(
    "openai", "OpenAI", Marks(UsageHabit.OPT_IN, UsageChunk.EMPTY_CHOICES, nulls_usage=True)
)
AIVENE = Dialect("aivene", "Aivene", Marks(UsageHabit.OPT_IN, id_prefix="ilbs_"))
AIGATEWAY = Dialect("aigateway", "AI Gateway", Marks(UsageHabit.ALWAYS, UsageChunk.WITHOUT_CHOICES))

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialect in (AUTO, OPENTOKEN, OPENAI, AIVENE, AIGATEWAY)}
)


def dialect_of(seen: Marks) -> Dialect:
    """The first whose marks a stream has that was `seen`; `auto` where it has nobody's."""
    named = (one for one in DIALECTS.values() if one.marks and one.marks.fit(seen))
    return next(named, AUTO)
