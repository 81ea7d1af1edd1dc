"""Every recording, at every byte split, gives the reply listed here."""

from dataclasses import dataclass
from typing import Any

import pytest

from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.moderation import ModerationFailure, ModerationResults
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.dialects import DIALECTS
from tests.support.profile import choose_size
from tests.upstream import RECORDINGS, decode_events, fold_events

USAGE = TokenUsage(12, 18, 30)
ONE_SEARCH = TokenUsage(12, 18, 30, extra_fees=1)
TWO_SEARCHES = TokenUsage(12, 18, 30, extra_fees=2)
OPENTOKEN_USAGE = TokenUsage(12, 18, 30, cached_tokens=4, reasoning_tokens=6)
OPENAI_USAGE = TokenUsage(12, 18, 30, 4, None, 6, 0, 0, 0, 0)
AIVENE_USAGE = TokenUsage(12, 18, 30, cached_tokens=4, cache_write_tokens=2)
AIGATEWAY_USAGE = TokenUsage(12, 37, 49)
WEATHER = ("get_weather", {"city": "Tokyo"})


@dataclass(frozen=True)
class Expected:
    """The expected reply of a recording's first choice."""

    answer: str = ""
    ending: Ending = Ending.COMPLETE
    usage: TokenUsage | None = None
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[tuple[str, Any], ...] = ()  # name and parsed arguments
    error: ErrorKind | None = None
    sources: tuple[str, ...] = ()  # titles
    images: int = 0
    has_sound: bool = False
    left_out: int = 0

    @classmethod
    def of(cls, reply: Reply) -> "Expected":
        return cls(
            reply.answer,
            reply.ending,
            reply.usage,
            reply.reasoning,
            reply.refusal,
            tuple((call.name, call.parsed) for call in reply.tool_calls),
            reply.error.kind if reply.error else None,
            tuple(source.title for source in reply.sources.values()),
            len(reply.images),
            reply.has_sound,
            sum(reply.left_out.values()),
        )


FLIGHT = "Packets in flight"
FAILED, CUT_OFF, STREAM_ERROR = Ending.FAILED, Ending.CUT_OFF, ErrorKind.STREAM_ERROR
OUT_OF_RANGE, MALFORMED = ErrorKind.OUT_OF_RANGE, ErrorKind.MALFORMED
REPLIES = {
    "opentoken": Expected(FLIGHT, usage=OPENTOKEN_USAGE),
    "opentoken_reasoning": Expected(
        "Größe \u2028🚀 fertig\n",
        Ending.LENGTH,
        OPENTOKEN_USAGE,
        reasoning="Zählen: 数 🤔 eins,\u2028zwei.",
    ),
    "opentoken_think_tags": Expected(
        "Write <think> to start.", usage=OPENTOKEN_USAGE, reasoning="Hm, a < b"
    ),
    "opentoken_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "openai": Expected(FLIGHT, usage=OPENAI_USAGE),
    "openai_tools": Expected(usage=OPENAI_USAGE, calls=(WEATHER, ("now", None))),
    "openai_function_call": Expected(usage=OPENAI_USAGE, calls=(WEATHER,)),
    "openai_refusal": Expected(
        ending=Ending.REFUSED, usage=OPENAI_USAGE, refusal="I can't help with that."
    ),
    "openai_logprobs": Expected("Go 🚀", usage=OPENAI_USAGE),
    "openai_choices": Expected("Heads.", usage=OPENAI_USAGE),  # three of them
    "openai_moderation": Expected("Packets", usage=OPENAI_USAGE),
    "aivene": Expected(FLIGHT, usage=AIVENE_USAGE, reasoning="Count packets."),
    "aivene_tools": Expected(calls=(WEATHER,)),
    "aivene_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "aigateway": Expected("Hello there", usage=AIGATEWAY_USAGE, reasoning="Count syllables. "),
    "aigateway_tools": Expected(usage=AIGATEWAY_USAGE, calls=(WEATHER,)),
    "vllm": Expected("In flight", usage=USAGE, reasoning="Count packets."),
    "openrouter": Expected(
        "In flight",
        usage=TokenUsage(12, 18, 30, cached_tokens=0, cost=100_000),
        reasoning="Count packets.",
    ),
    "openrouter_details": Expected("In flight", reasoning="Counting."),
    "groq": Expected("In flight", usage=USAGE, reasoning="Count."),
    "ollama": Expected("In flight", usage=USAGE, reasoning="Is 1 < 2? Yes.\n"),
    "ollama_no_opening_tag": Expected("In flight", usage=USAGE, reasoning="Is 1 < 2? Yes.\n"),
    "litellm": Expected(FLIGHT, usage=USAGE),
    "litellm_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "transformers": Expected(FLIGHT, usage=USAGE),
    "transformers_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "transformers_tools": Expected(usage=USAGE, calls=(WEATHER,)),
    "llama_cpp": Expected("Nul \ufffd, bell \x07."),
    "llama_cpp_tools": Expected(calls=(WEATHER,)),
    "llama_cpp_interrupted": Expected("Packets ", CUT_OFF),
    "lobe_one_delta": Expected("In flight", usage=USAGE, reasoning="Count."),
    "lobe_usage_everywhere": Expected(FLIGHT, usage=TokenUsage(12, 3, 15)),
    "azure": Expected("Packets ", Ending.CONTENT_FILTER, USAGE),
    "mistral": Expected("In flight", usage=USAGE, reasoning="Count packets.", left_out=1),
    "mistral_length": Expected("Packets ", Ending.LENGTH, USAGE),
    "gemini": Expected("In flight", usage=USAGE, reasoning="Count packets."),
    "gemini_tools": Expected(usage=USAGE, calls=(WEATHER, ("now", {}))),
    "deepseek_tools": Expected(usage=USAGE, reasoning="Tokyo, so ask.", calls=(WEATHER,)),
    "deepseek_overloaded": Expected("Packets ", FAILED, USAGE, error=ErrorKind.FINISH_REASON),
    "magistral_raw": Expected("In [the] flight", reasoning="Count [1] or [2]."),
    "openrouter_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "openrouter_image": Expected("Here it is.", usage=USAGE, images=1),
    "vllm_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "anthropic_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "llama_cpp_error": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "ollama_tools": Expected(
        calls=(WEATHER, ("get_weather", {"city": "Lima"}), ("now", {"zone": "UTC"}))
    ),
    "perplexity": Expected("In flight[1].", usage=ONE_SEARCH, sources=("One", "Two")),
    "openai_search": Expected("In flight", sources=("One",)),
    "xai": Expected("In flight", usage=TWO_SEARCHES, sources=("", "")),
    "openai_audio": Expected("In flight", has_sound=True),
    "groq_usage": Expected("In flight", usage=USAGE),
    "small_no_blank_lines": Expected(FLIGHT),
    "small_bare_completion": Expected(FLIGHT, usage=USAGE),
    "small_last_words": Expected("Packets ", FAILED, error=STREAM_ERROR),
    "small_odd_types": Expected(FLIGHT, usage=USAGE, left_out=1),
    "small_finish_everywhere": Expected(FLIGHT, usage=USAGE),
    "proxy_crlf": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_cr": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_bom": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_no_space": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_named_events": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_line_separator": Expected("one\u2028two\u2029three\x85four"),
    "proxy_after_done": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_no_done": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_no_blank_line": Expected("Größe 数 🚀", usage=USAGE),
    "proxy_cut": Expected("Packets ", CUT_OFF),
    "proxy_cut_in_character": Expected("Packets ", CUT_OFF),
    "hostile_html": Expected(
        "<img src=x onerror=alert(1)>",
        FAILED,
        reasoning="<script>alert(1)</script>",
        refusal="<b>no</b>",
        error=ErrorKind.FINISH_REASON,  # it is "<script>"
    ),
    "hostile_surrogates": Expected("a\ufffdb\ufffdc"),
    "hostile_choice_index": Expected("kept", FAILED, error=OUT_OF_RANGE),
    "hostile_tool_index": Expected("kept", FAILED, error=OUT_OF_RANGE),
    "hostile_nesting": Expected("kept", FAILED, error=MALFORMED, left_out=1),
    "hostile_arguments": Expected(calls=(("f", None),)),
}
ASKED_CHOICES = {"openai_choices": 3, "hostile_choice_index": 2}


def read_recording(name: str) -> bytes:
    return (RECORDINGS / f"{name}.sse").read_bytes()


def test_every_recording_has_its_reply_and_every_dialect_its_recording() -> None:
    assert {path.stem for path in RECORDINGS.glob("*.sse")} == set(REPLIES)
    assert {name for name, dialect in DIALECTS.items() if dialect.marks} <= set(REPLIES)


@pytest.mark.parametrize("name", REPLIES)
def test_a_recording_gives_its_reply_at_every_split(name: str) -> None:
    """In a quick run at every third byte, which still splits every kind of line and character."""
    stream, choices = read_recording(name), ASKED_CHOICES.get(name, 1)
    events = decode_events(stream, choices=choices)
    assert Expected.of(fold_events(events)) == REPLIES[name]
    for i in range(0, len(stream), choose_size(3, 1)):
        assert decode_events(stream[:i], stream[i:], choices=choices) == events
    assert (
        decode_events(*(stream[i : i + 1] for i in range(len(stream))), choices=choices) == events
    )


@pytest.mark.parametrize(
    ("name", "response_id", "model", "service_tier", "fingerprint"),
    [
        ("opentoken", "chatcmpl-1", "google/gemini-3-flash", "", ""),
        (
            "openai",
            "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
            "gpt-4o-2024-08-06",
            "default",
            "fp_44709d6fcb",
        ),
        ("aivene", "ilbs_ccb8", "gpt-4o", "", ""),
        ("aigateway", "chatcmpl-7", "", "", ""),
        ("azure", "chatcmpl-azure", "gpt-4o-2024-11-20", "", "fp_ee1d74bde0"),
    ],
)
def test_the_response_and_its_service_are_named(
    name: str, response_id: str, model: str, service_tier: str, fingerprint: str
) -> None:
    reply = fold_events(decode_events(read_recording(name)))
    assert (reply.response_id, reply.model) == (response_id, model)
    assert (reply.service_tier, reply.system_fingerprint) == (service_tier, fingerprint)


def test_each_choice_is_a_reply_with_the_shared_usage() -> None:
    events = decode_events(read_recording("openai_choices"), choices=3)
    first, second, third = (fold_events(events, choice) for choice in range(3))
    assert (first.answer, first.ending) == ("Heads.", Ending.COMPLETE)
    assert (second.answer, second.ending) == ("Tails or", Ending.LENGTH)
    assert third.answer == ""
    assert first.usage == second.usage == OPENAI_USAGE
    assert first.response_id == second.response_id


def test_moderation_results_and_failures_are_kept() -> None:
    moderation = fold_events(decode_events(read_recording("openai_moderation"))).moderation
    assert moderation
    assert isinstance(moderation.input, ModerationResults)
    assert moderation.input.categories == ["violence"]
    assert isinstance(moderation.output, ModerationFailure)
    assert moderation.output.message == "moderation is not available"
