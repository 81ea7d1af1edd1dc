"""What a gateway's list says that a model costs: an entry in, prices in whole numbers out.

In nano-dollars (10⁻⁹ US dollars) for a million tokens. Gateways write dollars, for one token or for
a million, under names of their own:

* OpenRouter `pricing.prompt`, `completion`, `input_cache_read`, `internal_reasoning`, as texts, for
  one token (https://openrouter.ai/docs/api-reference/list-available-models); -1 where it varies.
* Vercel `pricing.input`, `output`, `input_cache_read`, as texts, for one token.
* Together `pricing.input`, `output`, as numbers, for a million.
* DeepInfra `metadata.pricing.input_tokens`, `output_tokens`, as numbers, for a million.
* LiteLLM `input_cost_per_token`, `output_cost_per_token`, beside the model or in `model_info`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

NANO_DOLLARS = 10**9
A_MILLION = 10**6
_MOST = 10**5 * NANO_DOLLARS  # for a million tokens; what is more is no price
_LONGEST = 40  # characters of a number

_FIGURES: Mapping[str, tuple[str, ...]] = {
    "input": ("prompt", "input", "input_tokens", "input_cost_per_token"),
    "output": ("completion", "output", "output_tokens", "output_cost_per_token"),
    "cached": ("input_cache_read", "cache_read_tokens", "cache_read_input_token_cost"),
    "cache_write": ("input_cache_write", "cache_write_tokens", "cache_creation_input_token_cost"),
    "reasoning": ("internal_reasoning", "output_cost_per_reasoning_token"),
}
_APART = ("cached", "cache_write", "reasoning")
_PARTS = ("pricing", "metadata", "model_info")


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """For a million tokens; a part of the prompt or of the answer that is not named costs as much
    as the rest."""

    input: int
    output: int
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


def price_in(entry: Mapping[str, object]) -> ListedPrice | None:
    """What the entry of a list says; None where it does not say what is read and written costs."""
    for fields in _parts_of(entry):
        read, written = (_figure(fields, _FIGURES[name]) for name in ("input", "output"))
        if read is not None and written is not None:
            # Many write 0 for what they do not price apart: that is no gift.
            apart = {name: _figure(fields, _FIGURES[name]) or None for name in _APART}
            return ListedPrice(read, written, **apart)
    return None


def _parts_of(entry: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield entry
    for key in _PARTS:
        if isinstance(part := entry.get(key), dict):
            yield from _parts_of({one: part[one] for one in part if one not in _PARTS})
            if isinstance(inner := part.get("pricing"), dict):
                yield inner


def _figure(fields: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            continue
        is_for_one = isinstance(value, str) or "cost" in name
        try:
            dollars = Decimal(str(value)[:_LONGEST]) * (A_MILLION if is_for_one else 1)
            if 0 <= (nano := dollars * NANO_DOLLARS) <= _MOST:
                return int(nano.to_integral_value())
        except ArithmeticError:
            continue
    return None
