"""Usage and costs under all the names that gateways use."""

from typing import Any

import pytest

from chatapp.upstream.wire.decoding.chunks import decode
from chatapp.upstream.wire.events import TokenUsage, UsageReported
from chatapp.upstream.wire.usage import Usage
from tests.support.fake_upstream import chunk, delta, done, finish
from tests.upstream import decode_events, decode_reply


def test_usage_keeps_every_detail() -> None:
    usage = decode(
        '{"usage":{"prompt_tokens":12,"completion_tokens":18,"total_tokens":31,'
        '"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":2,"audio_tokens":3},'
        '"completion_tokens_details":{"reasoning_tokens":4,"audio_tokens":5,'
        '"accepted_prediction_tokens":6,"rejected_prediction_tokens":7}}}'
    ).usage
    assert usage
    counted = usage.count_tokens()
    assert counted
    assert (counted.prompt_tokens, counted.completion_tokens, counted.total_tokens) == (12, 19, 31)
    assert (counted.cached_tokens, counted.cache_write_tokens) == (1, 2)
    assert (counted.prompt_audio_tokens, counted.completion_audio_tokens) == (3, 5)
    assert counted.reasoning_tokens == 4
    assert counted.accepted_prediction_tokens == 6
    assert counted.rejected_prediction_tokens == 7


@pytest.mark.parametrize(
    ("prompt", "completion", "total", "counts"),
    [
        (12, 18, None, (12, 18, 30)),
        (12, None, 30, (12, 18, 30)),
        (None, 18, 30, (12, 18, 30)),
        (0, 0, 0, (0, 0, 0)),
        (12, 18, -1, (12, 18, 30)),
        (12, 18, "31", (12, 19, 31)),
        ("12", 18.0, None, (12, 18, 30)),
        ("12.5", 18, None, None),
        ("²", 18, None, None),
        (None, None, 30, None),
        (12, None, None, None),
        (12, -18, None, None),
        (12, 10**13, None, None),
        (True, 18, None, None),
        (12, 40, 30, (12, 40, 30)),
        (None, 40, 30, None),
    ],
)
def test_main_counts_are_given_or_derived_or_there_is_no_usage(
    prompt: Any, completion: Any, total: Any, counts: tuple[int, int, int] | None
) -> None:
    usage = Usage(prompt, completion, total).count_tokens()
    assert counts == (usage and (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens))


def test_an_invalid_detail_is_ignored() -> None:
    usage = decode(
        '{"usage":{"prompt_tokens":1,"completion_tokens":2,'
        '"completion_tokens_details":{"reasoning_tokens":-1,"audio_tokens":"many"}}}'
    ).usage
    assert usage
    counted = usage.count_tokens()
    assert counted
    assert counted.reasoning_tokens is None
    assert counted.completion_audio_tokens is None


def report_usage(usage: dict[str, Any]) -> TokenUsage:
    token_usage = decode_reply(delta("So."), finish(), chunk([], usage=usage), done()).usage
    assert token_usage
    return token_usage


def main(usage: TokenUsage) -> tuple[int, int, int]:
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


@pytest.mark.parametrize(
    ("usage", "counts", "cached", "written", "reasoning"),
    [
        # Gemini and xAI leave reasoning out of the completion
        ((8, 12, 320), (8, 312, 320), None, None, None),
        (
            (32, 9, 135, {"completion_tokens_details": {"reasoning_tokens": 94}}),
            *((32, 103, 135), None, None, 94),
        ),
        (
            (32, 9, None, {"completion_tokens_details": {"reasoning_tokens": 94}}),
            *((32, 103, 135), None, None, 94),
        ),
        # caches
        ((9000, 20, 9020, {"prompt_cache_hit_tokens": 8000}), (9000, 20, 9020), 8000, None, None),
        ((9000, 20, 9020, {"cached_tokens": 8000}), (9000, 20, 9020), 8000, None, None),
        (
            (
                *(9000, 20, 9020),
                {
                    "prompt_tokens_details": {"cached_tokens": 0},
                    "cache_read_input_tokens": 8000,
                    "cache_creation_input_tokens": 10,
                },
            ),
            *((9000, 20, 9020), 8000, 10, None),
        ),
        # Anthropic counts cached tokens separately
        (
            (100, 20, 8130, {"cache_read_input_tokens": 8000, "cache_creation_input_tokens": 10}),
            *((8110, 20, 8130), 8000, 10, None),
        ),
    ],
)
def test_counts_are_read_under_every_name(
    usage: tuple[Any, ...],
    counts: tuple[int, int, int],
    cached: int | None,
    written: int | None,
    reasoning: int | None,
) -> None:
    prompt, completion, total, *more = usage
    sent = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    token_usage = report_usage(sent | (more[0] if more else {}))
    assert main(token_usage) == counts
    assert (token_usage.cached_tokens, token_usage.cache_write_tokens) == (cached, written)
    assert token_usage.reasoning_tokens == reasoning


def test_counts_are_read_under_other_apis_names() -> None:
    token_usage = report_usage({"input_tokens": 12, "output_tokens": 18})
    assert main(token_usage) == (12, 18, 30)
    token_usage = report_usage(
        {
            **{"input_tokens": 12, "output_tokens": 18, "total_tokens": 30},
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 5},
        }
    )
    assert main(token_usage) == (12, 18, 30)
    assert (token_usage.cached_tokens, token_usage.reasoning_tokens) == (4, 5)
    token_usage = report_usage(
        {"input_tokens": 12, "output_tokens": 18, "cache_read_input_tokens": 100}
    )
    assert main(token_usage) == (112, 18, 130)


def test_usage_inside_a_choice_is_read() -> None:
    within = {"prompt_tokens": 3019, "completion_tokens": 21, "cached_tokens": 2900}
    ended = chunk([{"index": 0, "delta": {}, "finish_reason": "stop", "usage": within}])
    usage = decode_reply(delta("So."), ended, done()).usage
    assert usage
    assert (main(usage), usage.cached_tokens) == ((3019, 21, 3040), 2900)


def test_a_later_zero_does_not_erase_a_count() -> None:
    def merge_reports(*usages: dict[str, Any]) -> TokenUsage:
        events = decode_events(*(chunk([], usage=usage) for usage in usages))
        return [event.usage for event in events if isinstance(event, UsageReported)][-1]

    begun = {"prompt_tokens": 100, "completion_tokens": 0, "cached_tokens": 90, "cost": 0.5}
    ended = {"prompt_tokens": 0, "completion_tokens": 20, "cached_tokens": 0}
    token_usage = merge_reports(begun, ended)
    assert (main(token_usage), token_usage.cached_tokens) == ((100, 20, 120), 90)
    assert token_usage.cost == 500_000_000
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert main(merge_reports(begun, ended, nothing)) == (100, 20, 120)
    growing = [{"prompt_tokens": 9, "completion_tokens": count} for count in (1, 2, 3)]
    assert main(merge_reports(*growing)) == (9, 3, 12)


@pytest.mark.parametrize(
    ("sent_cost", "nano"),
    [
        ({"cost": 0.0123}, 12_300_000),
        ({"cost": "0.0123"}, 12_300_000),
        ({"cost": 1e-9}, 1),
        ({"cost": 0}, 0),
        ({"cost": {"total_cost": 0.006}}, 6_000_000),
        ({"estimated_cost": 0.25}, 250_000_000),
        ({"cost_in_usd_ticks": 37756000}, 3_775_600),
        # OpenRouter's fee, and what the provider charged to the person's own key
        (
            {"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.0123}},
            12_300_000,
        ),
        (
            {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}},
            21_000_000,
        ),
        ({"cost": 0.001, "cost_details": {"upstream_inference_cost": 0.02}}, 21_000_000),
        ({"cost": 0.02, "cost_details": {"upstream_inference_cost": 0.02}}, 20_000_000),
        (
            {"cost": 0.02, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.02}},
            20_000_000,
        ),
        ({"cost": 0.02, "cost_details": {"upstream_inference_cost": None}}, 20_000_000),
        ({}, None),
        ({"cost": -1}, None),
        ({"cost": True}, None),
        ({"cost": "NaN"}, None),
        ({"cost": "1e999999"}, None),
        ({"cost": 1e300}, None),
        ({"cost": "9" * 1000}, None),
        ({"cost": []}, None),
    ],
)
def test_the_cost_is_read(sent_cost: dict[str, Any], nano: int | None) -> None:
    token_usage = report_usage({"prompt_tokens": 1, "completion_tokens": 1} | sent_cost)
    assert token_usage.cost == nano


MAIN = {"prompt_tokens": 1, "completion_tokens": 2}


@pytest.mark.parametrize(
    ("more", "fees"),
    [
        ({}, None),
        ({"server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1}}, 3),
        ({"server_tool_use": {"web_search_requests": 0}}, None),
        ({"server_tool_use_details": {"web_search_requests": 2}}, 2),
        ({"server_side_tool_usage_details": {"web_search_calls": 4}}, 4),
        ({"num_server_side_tools_used": 2}, 2),
        ({"num_search_queries": 3, "search_context_size": "low"}, 3),
        ({"search_context_size": "low"}, 1),
        ({"num_sources_used": 5}, 5),
        ({"plugins": {"search": {"count": 1, "strategy": "turbo"}}}, 1),
        (
            {
                "server_tool_use": [1],
                "num_search_queries": "many",
                "plugins": {"a": {"b": {"c": 1}}},
            },
            None,
        ),
        ({"server_tool_use": {"web_search_requests": True, "other": -1, "more": 10**13}}, None),
    ],
)
def test_searches_and_tools_of_the_gateway_are_fees_besides_the_tokens(
    more: dict[str, Any], fees: int | None
) -> None:
    reply = decode_reply(delta("a"), finish(), chunk([], usage=MAIN | more), done())
    assert reply.usage == TokenUsage(1, 2, 3, extra_fees=fees)


def test_names_in_camel_case_count() -> None:
    counts = {"promptTokens": 12, "completionTokens": 18, "totalTokens": 30}
    assert decode_reply(delta("a"), chunk([], usage=counts)).usage == TokenUsage(12, 18, 30)
