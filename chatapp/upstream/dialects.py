"""How upstreams depart from the common form: one `Dialect` value each, and the request it makes.

A gateway is added by one record here and one recording in `tests/recordings/`. What can be seen
in the stream itself (where the reasoning is, which chunk has the usage, what is missing) needs no
entry: every stream is read the same way. So `auto` serves any upstream; a named dialect spares it
the options it does not need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Dialect:
    """One upstream's departures."""

    name: str
    label: str
    always_reports_usage: bool = False

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
OPENTOKEN = Dialect("opentoken", "OpenToken", always_reports_usage=True)
OPENAI = Dialect("openai", "OpenAI")
AIVENE = Dialect("aivene", "Aivene")
AIGATEWAY = Dialect("aigateway", "AI Gateway", always_reports_usage=True)

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialect in (AUTO, OPENTOKEN, OPENAI, AIVENE, AIGATEWAY)}
)
