"""How upstreams depart from the common form: one `Dialect` value each, and the request it makes.

A gateway is added by one record here and one recording in `tests/recordings/`. What can be seen
in the stream itself (where the reasoning is, which chunk has the usage) needs no entry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

ChatMessage = Mapping[str, object]  # {"role": "user", "content": "…"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One upstream's departures."""

    name: str
    always_reports_usage: bool = False

    def request_body(self, model: str, messages: Sequence[ChatMessage]) -> dict[str, object]:
        """Build the JSON body of `POST /v1/chat/completions`."""
        body: dict[str, object] = {"model": model, "messages": list(messages), "stream": True}
        if not self.always_reports_usage:
            body["stream_options"] = {"include_usage": True}
        return body


OPENTOKEN = Dialect("opentoken", always_reports_usage=True)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({d.name: d for d in (OPENTOKEN,)})
