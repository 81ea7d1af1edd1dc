"""The gateway dialects that the demo can write, one record each. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dialect:
    """One gateway's variant of the chat completions protocol."""

    name: str
    opening_delta: Mapping[str, object]
    stream_error: Mapping[str, str | None]  # the error frame after a 200
    id_prefix: str = "chatcmpl-"
    always_reports_usage: bool = False
    prompt_details: tuple[str, ...] = ()  # of the usage
    completion_details: tuple[str, ...] = ()
    is_done_after_error: bool = True  # [DONE] follows the error frame
    every_chunk: Mapping[str, object] = field(default_factory=dict)
    every_choice: Mapping[str, object] = field(default_factory=dict)
    nulls_usage: bool = False  # `usage: null` on the chunks before the usage
    names_service_tier: bool = False
    moderates: bool = False
    # Bare: only the first chunk has an id, choices have no index, the usage chunk has no choices
    # and no total, and finish_reason comes with the last delta.
    is_bare: bool = False


OPENTOKEN = Dialect(
    name="opentoken",
    opening_delta={"role": "assistant"},
    always_reports_usage=True,
    prompt_details=("cached_tokens",),
    completion_details=("reasoning_tokens",),
    stream_error={
        "message": "stream interrupted",
        "type": "upstream_error",
        "code": "stream_error",
    },
)

OPENAI = Dialect(
    name="openai",
    opening_delta={"role": "assistant", "content": "", "refusal": None},
    prompt_details=("cached_tokens", "audio_tokens"),
    completion_details=(
        "reasoning_tokens",
        "audio_tokens",
        "accepted_prediction_tokens",
        "rejected_prediction_tokens",
    ),
    stream_error={
        "message": "The server had an error while processing your request.",
        "type": "server_error",
        "param": None,
        "code": None,
    },
    is_done_after_error=False,
    every_chunk={"system_fingerprint": "fp_demo"},
    every_choice={"logprobs": None},
    nulls_usage=True,
    names_service_tier=True,
    moderates=True,
)

AIVENE = Dialect(
    name="aivene",
    id_prefix="ilbs_",
    opening_delta={"role": "assistant", "content": ""},
    prompt_details=("cached_tokens", "cache_write_tokens"),
    stream_error={"message": "stream interrupted", "type": "stream_error"},
)

AIGATEWAY = Dialect(
    name="aigateway",
    opening_delta={"role": "assistant"},
    always_reports_usage=True,
    stream_error={"message": "the model stopped answering", "code": "upstream_error"},
    is_done_after_error=False,
    is_bare=True,
)
