"""Model prices as given in gateways' lists: dollars per token, or per million tokens."""

import pytest

from chatapp.upstream.wire.model_prices import ListedPrice, price_in

DOLLAR = 10**9


@pytest.mark.parametrize(
    ("entry", "price"),
    [
        (  # OpenRouter
            {
                "pricing": {
                    "prompt": "0.0000025",
                    "completion": "0.00001",
                    "internal_reasoning": "0",
                    "input_cache_read": "0.00000125",
                    "image": "0.003613",
                }
            },
            ListedPrice(2_500_000_000, 10 * DOLLAR, cached=1_250_000_000),
        ),
        (  # Vercel
            {"pricing": {"input": "0.0000000375", "output": "0.00000015"}},
            ListedPrice(37_500_000, 150_000_000),
        ),
        ({"pricing": {"input": 0.18, "output": 0.59}}, ListedPrice(180_000_000, 590_000_000)),
        (  # DeepInfra
            {"metadata": {"pricing": {"input_tokens": 0.05, "output_tokens": 0.1}}},
            ListedPrice(50_000_000, 100_000_000),
        ),
        (  # LiteLLM
            {
                "model_info": {
                    "input_cost_per_token": 2.5e-06,
                    "output_cost_per_token": 1e-05,
                    "output_cost_per_reasoning_token": 2e-05,
                }
            },
            ListedPrice(2_500_000_000, 10 * DOLLAR, reasoning=20 * DOLLAR),
        ),
        ({"pricing": {"prompt": "0", "completion": "0"}}, ListedPrice(0, 0)),
    ],
)
def test_a_gateways_price_is_read(entry: dict[str, object], price: ListedPrice) -> None:
    assert price_in({"id": "m"} | entry) == price


@pytest.mark.parametrize(
    "pricing",
    [
        None,
        [],
        "free",
        {},
        {"prompt": "0.1"},
        {"prompt": "-1", "completion": "-1"},
        {"prompt": "NaN", "completion": "Infinity"},
        {"prompt": "1e99999999", "completion": "1"},
        {"prompt": "9" * 5000, "completion": "9"},
        {"prompt": True, "completion": False},
        {"prompt": {}, "completion": []},
        {"pricing": {"pricing": {"prompt": "1", "completion": "1"}}},
        {"input": float("inf"), "output": float("nan")},
        {"input": 10**400, "output": 1},
    ],
)
def test_a_nonsensical_price_is_ignored(pricing: object) -> None:
    assert price_in({"id": "m", "pricing": pricing}) is None
