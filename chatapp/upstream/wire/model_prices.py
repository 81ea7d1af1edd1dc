"""Read a model's price from its entry in a gateway's list.

Prices are integers, in nano-dollars (10⁻⁹ US dollars) per million tokens. Gateways give dollars per
token or per million tokens, under various names:

* OpenRouter `pricing.prompt`, `completion`, `input_cache_read`, `internal_reasoning`: strings, per
  token (https://openrouter.ai/docs/api-reference/list-available-models); -1 if the price varies.
* Vercel `pricing.input`, `output`, `input_cache_read`: strings, per token.
* Together `pricing.input`, `output`: numbers, per million.
* DeepInfra `metadata.pricing.input_tokens`, `output_tokens`: numbers, per million.
* LiteLLM `input_cost_per_token`, `output_cost_per_token`, in the entry itself or in `model_info`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

NANO_DOLLARS = 10**9
A_MILLION = 10**6
_MAX_PRICE = 10**5 * NANO_DOLLARS  # per million tokens; anything higher is not a price
_MAX_NUMBER_LENGTH = 40  # characters

_FIGURES: Mapping[str, tuple[str, ...]] = {
    "input": ("prompt", "input", "input_tokens", "input_cost_per_token"),
    "output": ("completion", "output", "output_tokens", "output_cost_per_token"),
    "cached": ("input_cache_read", "cache_read_tokens", "cache_read_input_token_cost"),
    "cache_write": ("input_cache_write", "cache_write_tokens", "cache_creation_input_token_cost"),
    "reasoning": ("internal_reasoning", "output_cost_per_reasoning_token"),
}
_OPTIONAL = ("cached", "cache_write", "reasoning")
_PARTS = ("pricing", "metadata", "model_info")


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """Nano-dollars per million tokens.

    If a price is None, those tokens cost as much as the rest of the input or output.
    """

    input: int
    output: int
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


def price_in(entry: Mapping[str, object]) -> ListedPrice | None:
    """Return the price in a list's entry; None unless it has both an input and an output price."""
    for fields in _find_parts(entry):
        read, written = (_figure(fields, _FIGURES[name]) for name in ("input", "output"))
        if read is not None and written is not None:
            # Many gateways give 0 if there is no separate price; it does not mean free.
            optional = {name: _figure(fields, _FIGURES[name]) or None for name in _OPTIONAL}
            return ListedPrice(read, written, **optional)
    return None


def _find_parts(entry: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield entry
    for key in _PARTS:
        if isinstance(part := entry.get(key), dict):
            yield from _find_parts({name: part[name] for name in part if name not in _PARTS})
            if isinstance(inner := part.get("pricing"), dict):
                yield inner


def _figure(fields: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            continue
        is_per_token = isinstance(value, str) or "cost" in name
        try:
            dollars = Decimal(str(value)[:_MAX_NUMBER_LENGTH]) * (A_MILLION if is_per_token else 1)
            if 0 <= (nano := dollars * NANO_DOLLARS) <= _MAX_PRICE:
                return int(nano.to_integral_value())
        except ArithmeticError:
            continue
    return None
