"""Encode replies for the wire; the differences between dialects are in `dialects`.

Values in, bytes out: Server-Sent Events for a stream, one JSON document otherwise. No I/O.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from chatapp.demo.dialects import Dialect
from chatapp.demo.logprobs import build_logprobs
from chatapp.demo.moderation import MODERATION
from chatapp.demo.script import CallDelta, Delta, Ending, Script, TextDelta

DONE = b"data: [DONE]\n\n"
FIELDS = {"reasoning": "reasoning_content", "answer": "content", "refusal": "refusal"}


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts. `prompt` includes `cached`, and `completion` includes `reasoning`."""

    prompt: int
    cached: int
    completion: int
    reasoning: int

    def as_json(self, dialect: Dialect) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
        }
        if not dialect.is_bare:
            usage["total_tokens"] = self.prompt + self.completion
        counts = {"cached_tokens": self.cached, "reasoning_tokens": self.reasoning}
        details = {"prompt": dialect.prompt_details, "completion": dialect.completion_details}
        for kind, names in details.items():
            if names:
                usage[f"{kind}_tokens_details"] = {name: counts.get(name, 0) for name in names}
        return usage


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes one completion in one dialect. `created` is in seconds since 1970."""

    dialect: Dialect
    id: str
    created: int
    model: str
    usage: Usage
    includes_usage: bool
    service_tier: str = "default"
    top_logprobs: int | None = None  # None: no logprobs at all

    def choice_events(self, index: int, script: Script) -> Iterator[bytes]:
        """Yield a choice's events: the opening, extras next to the text, the deltas, the finish.

        A reply that breaks off has no finish.
        """
        opening = self._choice(index, self.dialect.opening_delta)
        names = {"id": self.id} if self.dialect.is_bare and not index else {}
        yield self._chunk_event([opening], **names)
        if script.beside:
            yield self._chunk_event([self._choice(index, script.beside)])
        finish = script.ending.finish_reason
        last: dict[str, Any] | None = None
        for delta in script.deltas:
            if last:
                yield self._chunk_event([last])
            last = self._choice(index, self._delta(index, delta, script.ending))
            last |= self._logprobs([delta])
        if last and finish and self.dialect.is_bare:
            yield self._chunk_event([{**last, "finish_reason": finish}])
            return
        if last:
            yield self._chunk_event([last])
        if finish:
            yield self._chunk_event([self._choice(index, {}, finish)])

    def closing_events(self, script: Script) -> Iterator[bytes]:
        """Yield the events after all choices: none if the connection is to be cut or to stall."""
        if script.ending.finish_reason:
            if script.is_moderated and self.dialect.moderates:
                yield self._chunk_event([], moderation=MODERATION)
            if self.includes_usage:
                yield self._usage_event()
            yield DONE
        elif script.ending is Ending.ERROR:
            yield event({"error": self.dialect.stream_error})
            if self.dialect.is_done_after_error:
                yield DONE

    def completion(self, scripts: Sequence[Script]) -> bytes:
        """Return the whole reply as one `chat.completion`, for a request without `stream`."""
        choices = [
            {
                "index": index,
                "message": self._message(index, script),
                **self._logprobs(list(script.deltas)),
                "finish_reason": script.ending.finish_reason,
            }
            for index, script in enumerate(scripts)
        ]
        whole = {**self._envelope("chat.completion"), "choices": choices}
        if scripts[0].is_moderated and self.dialect.moderates:
            whole["moderation"] = MODERATION
        return msgspec.json.encode({**whole, "usage": self.usage.as_json(self.dialect)})

    def _delta(self, choice: int, delta: Delta, ending: Ending) -> dict[str, Any]:
        match delta:
            case TextDelta(region, text):
                return {FIELDS[region]: text}
            case CallDelta(_, name, arguments) if ending is Ending.FUNCTION_CALL:
                function = {"name": name, "arguments": ""} if name else {"arguments": arguments}
                return {"function_call": function}
            case CallDelta(place, "", arguments):
                return {"tool_calls": [{"index": place, "function": {"arguments": arguments}}]}
            case CallDelta(place, name):
                call = self._call(choice, place, name, "")
                return {"tool_calls": [{"index": place, **call}]}

    def _message(self, index: int, script: Script) -> dict[str, Any]:
        texts = dict.fromkeys(FIELDS, "")
        for delta in script.deltas:
            if isinstance(delta, TextDelta):
                texts[delta.region] += delta.text
        message: dict[str, Any] = {"role": "assistant", "content": texts["answer"] or None}
        message |= {FIELDS[region]: text for region, text in texts.items() if text}
        message |= script.beside
        if script.ending is Ending.FUNCTION_CALL:
            message["function_call"] = script.calls[0]._asdict()
        elif script.calls:
            message["tool_calls"] = [
                self._call(index, place, call.name, call.arguments)
                for place, call in enumerate(script.calls)
            ]
        return message

    def _call(self, choice: int, place: int, name: str, arguments: str) -> dict[str, Any]:
        call_id = f"call_{self.id[-12:]}_{choice}_{place}"
        function = {"name": name, "arguments": arguments}
        return {"id": call_id, "type": "function", "function": function}

    def _choice(
        self, index: int, delta: Mapping[str, object], finish_reason: str | None = None
    ) -> dict[str, Any]:
        if self.dialect.is_bare:
            return {"delta": delta} | ({"finish_reason": finish_reason} if finish_reason else {})
        every = self.dialect.every_choice
        return {"index": index, "delta": delta, **every, "finish_reason": finish_reason}

    def _logprobs(self, deltas: Sequence[Delta]) -> dict[str, Any]:
        if self.top_logprobs is None or self.dialect.is_bare:
            return {}
        return {"logprobs": build_logprobs(deltas, self.top_logprobs)}

    def _usage_event(self) -> bytes:
        usage = self.usage.as_json(self.dialect)
        return (
            event({"usage": usage}) if self.dialect.is_bare else self._chunk_event([], usage=usage)
        )

    def _chunk_event(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        if self.dialect.is_bare:
            return event({**more, "choices": choices})
        nulls = {"usage": None} if self.dialect.nulls_usage and self.includes_usage else {}
        return event(
            {**self._envelope("chat.completion.chunk"), "choices": choices, **nulls, **more}
        )

    def _envelope(self, kind: str) -> dict[str, Any]:
        tier = {"service_tier": self.service_tier} if self.dialect.names_service_tier else {}
        named = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        return {**named, **tier, **self.dialect.every_chunk}


def event(data: Mapping[str, Any]) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"
