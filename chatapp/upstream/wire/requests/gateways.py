"""Public gateways, by their hosts, and the parameters that they ignore, bound or refuse.

The table of `docs/gateways.md` has the same, and so has the panel with a chat's settings. Each
gateway names the page that says so, read in November 2026. What a gateway refuses is also learned
from its refusals; what it ignores can't be.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chatapp.upstream.wire.requests.spellings import (
    COMMON_SPELLING,
    THINKING_TYPE_SPELLING,
    Spelling,
)


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on a gateway's parameters: “DeepSeek *ignores this while the model thinks*”.

    `parameters` are those that a chat has fields for; `others` can be set as JSON.
    """

    words: str
    parameters: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    models: str = ""  # a regular expression for the beginning of their ids; "" for all models


@dataclass(frozen=True, slots=True)
class Gateway:
    """A public gateway; `UNKNOWN` for any other server."""

    name: str = ""
    hosts: tuple[str, ...] = ()  # regular expressions for their ends
    source: str = ""
    remarks: tuple[Remark, ...] = ()
    spelling: Spelling = COMMON_SPELLING
    # Whether it takes `prompt_cache_key` and `safety_identifier`.
    takes_identifiers: bool = False
    # Whether it refuses keywords such as `$schema` in the schemas of tools.
    refuses_schema_keywords: bool = False

    def is_at(self, host: str) -> bool:
        return any(re.search(rf"(^|\.){host_pattern}$", host) for host_pattern in self.hosts)

    def notes_on(self, model: str) -> Mapping[str, str]:
        """Return a sentence on each parameter about which there is a remark for this model."""
        return dict(self._notes(model))

    def _notes(self, model: str) -> Iterator[tuple[str, str]]:
        for remark in self.remarks:
            if re.match(remark.models, model, re.IGNORECASE):
                for name in remark.parameters:
                    yield name, f"{self.name} {remark.words}."


UNKNOWN = Gateway()
_PENALTIES = ("presence_penalty", "frequency_penalty")

GATEWAYS = (
    Gateway(
        "Anthropic",
        (r"anthropic\.com",),
        "https://platform.claude.com/docs/en/cli-sdks-libraries/libraries/openai-sdk",
        (
            Remark(
                "ignores this",
                ("reasoning_effort", "seed", "response_format", "logprobs", "top_logprobs"),
                (*_PENALTIES, "logit_bias"),
            ),
            Remark("takes a value above 1 as 1", ("temperature",)),
        ),
    ),
    Gateway(
        "DeepSeek",
        (r"deepseek\.com",),
        "https://api-docs.deepseek.com/guides/thinking_mode",
        (
            Remark("ignores this while the model thinks", ("temperature",), _PENALTIES),
            Remark("ignores or narrows this while the model thinks", ("top_p",)),
            Remark("knows low, high and max, and takes the nearest", ("reasoning_effort",)),
        ),
        THINKING_TYPE_SPELLING,
    ),
    Gateway(
        "Google",
        (r"generativelanguage\.googleapis\.com", r"([a-z0-9-]+-)?aiplatform\.googleapis\.com"),
        "https://ai.google.dev/gemini-api/docs/openai",
        (Remark("refuses this", ("web_search",)),),
        refuses_schema_keywords=True,
    ),
    Gateway(
        "Groq",
        (r"groq\.com",),
        "https://console.groq.com/docs/openai",
        (Remark("refuses this", ("logprobs", "top_logprobs"), ("logit_bias",)),),
    ),
    Gateway(
        "MiniMax",
        (r"minimax\.io", r"minimaxi\.com"),
        "https://platform.minimax.io/docs/api-reference/text-chat",
        (Remark("takes values above 0, up to 1", ("temperature", "top_p")),),
        THINKING_TYPE_SPELLING,
    ),
    Gateway(
        "Moonshot",
        (r"moonshot\.ai", r"moonshot\.cn"),
        "https://java.agentscope.io/v2/en/integration/model/kimi",
        (
            Remark(
                "has fixed this for its Kimi models and may refuse another value",
                ("temperature", "top_p"),
                _PENALTIES,
                models="kimi-",
            ),
        ),
        THINKING_TYPE_SPELLING,
    ),
    Gateway(
        "OpenAI",
        (r"api\.openai\.com",),
        "https://hexdocs.pm/ex_openai/2.0.0-beta/ExOpenAI.Components.ModelResponseProperties.html",
        takes_identifiers=True,
    ),
    Gateway(
        "xAI",
        (r"x\.ai",),
        "https://docs.x.ai/docs/guides/reasoning",
        (
            Remark("refuses this for models that reason", ("stop",), _PENALTIES),
            Remark("refuses this for models that always reason", ("reasoning_effort",)),
            Remark("searches only in its Responses API, which isn't used here", ("web_search",)),
        ),
    ),
)


def gateway_at(host: str) -> Gateway:
    """Return the gateway at a host, or `UNKNOWN`."""
    return next((gateway for gateway in GATEWAYS if gateway.is_at(host)), UNKNOWN)
