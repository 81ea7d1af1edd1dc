"""Writes answers as OpenAI does: as `chat.completion.chunk` objects, or as a `chat.completion`.

Reasoning is `reasoning_content`, as DeepSeek names it. Pure.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from chatapp.models import Usage
from chatapp.upstream.wire.events import (
    AnswerDelta,
    ChoiceEvent,
    Event,
    ImageReceived,
    LogprobsDelta,
    OpaqueReceived,
    ReasoningDelta,
    RefusalDelta,
    TokenLogprob,
    ToolCallDelta,
)
from chatapp.upstream.wire.images import Image
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.content import EncodedPart

FINISHES = {
    Ending.LENGTH: "length",
    Ending.OVER_BUDGET: "length",
    Ending.CONTENT_FILTER: "content_filter",
}
WHOLE = frozenset({Ending.COMPLETE, Ending.REFUSED, Ending.NO_ANSWER, *FINISHES})


@dataclass
class Writer:
    """Writes one answer. `model` may change before the first chunk."""

    id: str
    model: str
    created: int = field(default_factory=lambda: int(time.time()))
    _started_choices: set[int] = field(default_factory=set)  # choices
    _calls: set[tuple[int, int]] = field(default_factory=set)  # by choice and index

    def chunks(self, events: Iterable[Event]) -> Iterator[dict[str, object]]:
        """Yield the chunks of the content in some events."""
        for event in events:
            if isinstance(event, ChoiceEvent):
                if delta := self._delta(event):
                    yield self._chunk(event.choice, self._with_role(event.choice, delta))
                elif isinstance(event, LogprobsDelta):
                    delta = self._with_role(event.choice, {})
                    yield self._chunk(event.choice, delta, logprobs=_logprobs(event))

    def last_chunks(
        self, choices: Sequence[Reply], is_over: bool, usage: Usage | None
    ) -> Iterator[dict[str, object]]:
        """Yield the chunks that end an answer: why each choice ended, then its usage."""
        for choice in choices:
            delta = self._with_role(choice.choice, {})
            yield self._chunk(choice.choice, delta, finish_reason(choice, is_over))
        if usage:
            yield {
                **self._head("chat.completion.chunk"),
                "choices": [],
                "usage": format_usage(usage),
            }

    def completion(
        self, choices: Sequence[Reply], is_over: bool, usage: Usage
    ) -> dict[str, object]:
        """Return a whole answer."""
        return {
            **self._head("chat.completion"),
            "choices": [_choice(choice, is_over) for choice in choices],
            "usage": format_usage(usage),
        }

    def _head(self, kind: str) -> dict[str, object]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(
        self,
        choice: int,
        delta: Mapping[str, object],
        finish: str | None = None,
        **more: object,
    ) -> dict[str, object]:
        described = {"index": choice, "delta": delta, "finish_reason": finish, **more}
        return {**self._head("chat.completion.chunk"), "choices": [described]}

    def _with_role(self, choice: int, delta: Mapping[str, object]) -> Mapping[str, object]:
        if choice in self._started_choices:
            return delta
        self._started_choices.add(choice)
        return {"role": "assistant", **delta}

    def _delta(self, event: ChoiceEvent) -> Mapping[str, object] | None:
        match event:
            case AnswerDelta(text):
                return {"content": text}
            case ReasoningDelta(text):
                return {"reasoning_content": text}
            case RefusalDelta(text):
                return {"refusal": text}
            case ToolCallDelta():
                return {"tool_calls": [self._call(event)]}
            case OpaqueReceived(fields):
                return fields
            case ImageReceived(image):
                return {"images": [_image(image)]}
        return None

    def _call(self, event: ToolCallDelta) -> dict[str, object]:
        """Name a call in its first fragment only, since clients append what follows."""
        call: dict[str, object] = {"index": event.index, **(event.extras or {})}
        function = {"arguments": event.arguments}
        if (event.choice, event.index) not in self._calls:
            self._calls.add((event.choice, event.index))
            call |= {"id": event.id or f"call_{event.index}", "type": "function"}
            function["name"] = event.name
        return {**call, "function": function}


def finish_reason(choice: Reply, is_over: bool = False) -> str:
    """Return why a whole choice ended; `is_over` is its budget."""
    if choice.wants_tools:
        return "tool_calls"
    return "length" if is_over else FINISHES.get(choice.ending, "stop")


def format_usage(usage: Usage) -> dict[str, object]:
    """Return the counts; `estimated` says that the model's server did not report them."""
    return {
        "prompt_tokens": usage.prompt_tokens or 0,
        "completion_tokens": usage.completion_tokens or 0,
        "total_tokens": usage.total_tokens or 0,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens or 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "estimated": usage.provenance != Usage.Provenance.REPORTED,
    }


def format_message(choice: Reply) -> dict[str, object]:
    """Return what has arrived of a choice as a message."""
    calls = choice.tool_calls
    message: dict[str, object] = {
        "role": "assistant",
        "content": choice.answer if choice.answer_parts or not calls else None,
        "refusal": choice.refusal or None,
    }
    if choice.reasoning_parts:
        message["reasoning_content"] = choice.reasoning
    if calls:
        message["tool_calls"] = [
            {
                **call.extras,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in calls
        ]
    if choice.images:
        message["images"] = [_image(image) for image in choice.images]
    return {**message, **choice.opaque}


def _choice(choice: Reply, is_over: bool) -> dict[str, object]:
    delta = LogprobsDelta(tuple(choice.logprobs), tuple(choice.refusal_logprobs))
    return {
        "index": choice.choice,
        "message": format_message(choice),
        "finish_reason": finish_reason(choice, is_over),
        "logprobs": _logprobs(delta) if delta.content or delta.refusal else None,
    }


def _logprobs(delta: LogprobsDelta) -> dict[str, object]:
    return {
        "content": [_token(token) for token in delta.content] or None,
        "refusal": [_token(token) for token in delta.refusal] or None,
    }


def _token(token: TokenLogprob) -> dict[str, Any]:
    return {
        "token": token.token,
        "logprob": token.logprob,
        "bytes": None if token.utf8 is None else list(token.utf8),
        "top_logprobs": [_token(top) for top in token.top],
    }


def _image(image: Image) -> msgspec.Raw:
    return msgspec.Raw(EncodedPart.of(image.media_type, image.data).json)
