"""The questions of a check: short prompts with small limits, a few hundred tokens in total."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatapp.upstream.wire.requests.dialects import ChatMessage, RequestOptions

# Parameters that limit a reply's length, in the order of trying them; "" for none.
LIMITS = ("max_tokens", "max_completion_tokens", "")

WRONG_MODEL = "chatapp-check-no-such-model"
WRONG_KEY = "sk-chatapp-check-wrong-key"

# A tool as a request offers it: `{"type": "function", "function": {"name": …}}`.
ToolRecord = Mapping[str, object]

_WEATHER_TOOL: ToolRecord = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city, now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
_NO_CHAT = re.compile("embed|rerank|whisper|transcri|tts|speech|dall-e|image|moderation", re.I)


@dataclass(frozen=True, slots=True)
class Question:
    """One prompt; the reply is limited to `tokens`."""

    prompt: str
    tokens: int
    tools: Sequence[ToolRecord] = ()

    @property
    def messages(self) -> list[ChatMessage]:
        return [{"role": "user", "content": self.prompt}]

    def options(self, limit: str) -> RequestOptions:
        """Return the request's options; `limit` is one of `LIMITS`."""
        return RequestOptions(self.tools, {limit: self.tokens} if limit else {})


COUNT = Question("Count from 1 to 30, in digits, with spaces between them.", 100)
HELLO = Question("Hello!", 30)
WEATHER = Question("What is the weather in Tokyo? Use the tool.", 200, (_WEATHER_TOOL,))
LONG = Question("Count from 1 to 300, in digits, with spaces between them.", 400)


def models_for_chat(models: Sequence[str]) -> list[str]:
    """Return the models not named like an embedding, speech or image model."""
    return [model for model in models if not _NO_CHAT.search(model)]


def model_for_chat(models: Sequence[str]) -> str:
    """Return the first of `models_for_chat`, or else the first; "" if there are no models."""
    return next(iter([*models_for_chat(models), *models]), "")
