"""How a reply looks on the wire. What sets one dialect apart from another is in its record.

Values in, bytes out: Server-Sent Events for a stream, one JSON document otherwise. No I/O.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from chatapp.demo.script import Delta, Ending, Script

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One gateway's form of the protocol."""

    name: str
    id_prefix: str
    opening_delta: Mapping[str, str]
    fields: Mapping[str, str]  # region → name of its field in a delta and a message
    stream_error: Mapping[str, str]  # the error frame after a 200


OPENTOKEN = Dialect(
    name="opentoken",
    id_prefix="chatcmpl-",
    opening_delta={"role": "assistant"},
    fields={"reasoning": "reasoning_content", "answer": "content"},
    stream_error={
        "message": "stream interrupted",
        "type": "upstream_error",
        "code": "stream_error",
    },
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one completion: `cached` ones within `prompt`, `reasoning` within `completion`."""

    prompt: int
    cached: int
    completion: int
    reasoning: int

    def as_json(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning},
        }


@dataclass(frozen=True, slots=True)
class Encoder:
    """Writes one completion in one dialect. `created` is in seconds since 1970."""

    dialect: Dialect
    id: str
    created: int
    model: str
    usage: Usage

    def opening_event(self) -> bytes:
        return self._delta_event(self.dialect.opening_delta)

    def delta_event(self, delta: Delta) -> bytes:
        return self._delta_event({self.dialect.fields[delta.region]: delta.text})

    def ending_events(self, ending: Ending) -> Iterator[bytes]:
        """What follows the last delta: nothing at all if the connection is to be cut."""
        if ending.finish_reason:
            yield self._delta_event({}, ending.finish_reason)
            yield self._chunk_event([], usage=self.usage.as_json())
            yield DONE
        elif ending is Ending.ERROR:
            yield event({"error": self.dialect.stream_error})
            yield DONE

    def completion(self, script: Script) -> bytes:
        """The whole reply as one `chat.completion`, for a request without `stream`."""
        message = {
            "role": "assistant",
            self.dialect.fields["answer"]: "".join(script.answer_tokens),
        }
        if script.reasoning:
            message[self.dialect.fields["reasoning"]] = script.reasoning
        choice = {"index": 0, "message": message, "finish_reason": script.ending.finish_reason}
        return msgspec.json.encode(
            {
                **self._envelope("chat.completion"),
                "choices": [choice],
                "usage": self.usage.as_json(),
            }
        )

    def _delta_event(self, delta: Mapping[str, str], finish_reason: str | None = None) -> bytes:
        return self._chunk_event([{"index": 0, "delta": delta, "finish_reason": finish_reason}])

    def _chunk_event(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        return event({**self._envelope("chat.completion.chunk"), "choices": choices, **more})

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def event(data: Mapping[str, Any]) -> bytes:
    """`data` as one server-sent event."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
