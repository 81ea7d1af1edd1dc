"""The part of a number format that shows digits, with the texts before, between and after them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from .numbers import format_decimal

ROUNDING = Context(prec=1_000, rounding=ROUND_HALF_UP)
MAX_DIGITS = 30  # of a fraction's denominator, and after the decimal point


@dataclass(frozen=True)
class Token:
    kind: str  # "digit", "point", "comma", "percent", "slash", "exponent", "general", "text", …
    text: str


class NumberPattern:
    """Shows numbers without their signs."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        kinds = [token.kind for token in tokens]
        self._percents = kinds.count("percent")
        self._exponent = kinds.index("exponent") if "exponent" in kinds else None
        self._slash = _find_slash(tokens)
        self._digits = _Digits(tokens[: self._exponent])

    @property
    def shows_digits(self) -> bool:
        return any(token.kind in ("digit", "general", "at") for token in self._tokens)

    def format(self, number: Decimal) -> str:
        number = number.scaleb(2 * self._percents, ROUNDING)
        if self._exponent is not None:
            return self._format_scientific(number, self._exponent)
        if self._slash is not None:
            return self._format_fraction(number, self._slash)
        if not self._digits.count:
            return "".join(
                format_decimal(number) if token.kind in ("general", "at") else token.text
                for token in self._tokens
            )
        return self._digits.format(number)

    def _format_scientific(self, number: Decimal, place: int) -> str:
        """Format in scientific notation; several digits before the point are engineers' steps."""
        step = max(self._digits.whole_count, 1)
        exponent = number.adjusted() // step * step if number else 0
        mantissa = self._digits.round(number.scaleb(-exponent, ROUNDING))
        if mantissa and mantissa.adjusted() >= step:  # it was rounded up to the next power
            exponent += step
            mantissa = number.scaleb(-exponent, ROUNDING)
        exponent_tokens = self._tokens[place + 1 :]
        count = next(
            (n for n, token in enumerate(exponent_tokens) if token.kind != "digit"),
            len(exponent_tokens),
        )
        sign = "-" if exponent < 0 else "+" if self._tokens[place].text.endswith("+") else ""
        after = "".join(token.text for token in exponent_tokens[count:])
        return f"{self._digits.format(mantissa)}E{sign}{abs(exponent):0{count}}{after}"

    def _format_fraction(self, number: Decimal, slash: int) -> str:
        before, after = self._tokens[:slash], self._tokens[slash + 1 :]
        end = next((i for i, token in enumerate(after) if not _is_denominator(token)), len(after))
        denominator = "".join(token.text for token in after[:end])[:MAX_DIGITS]
        start = next(i for i, token in enumerate(before) if token.kind == "digit")
        has_whole = any(token.text.isspace() for token in before[start:])
        whole, fractional_part = (
            ROUNDING.divmod(number, Decimal(1)) if has_whole else (Decimal(0), number)
        )
        if denominator.strip("0#?"):
            divisor = int(denominator.replace("#", "0").replace("?", "0"))
            parts = int((fractional_part * divisor).quantize(Decimal(1), context=ROUNDING))
        else:
            limit = 10 ** min(len(denominator), 9) - 1
            parts, divisor = Fraction(fractional_part).limit_denominator(limit).as_integer_ratio()
        if has_whole and parts == divisor:
            whole, parts = whole + 1, 0
        components = [f"{whole:f}"] if whole or not parts else []
        components += [f"{parts}/{divisor}"] if parts else []
        prefix = "".join(token.text for token in before[:start])
        return prefix + " ".join(components) + "".join(token.text for token in after[end:])


def _find_slash(tokens: Sequence[Token]) -> int | None:
    """Return the place of a fraction's line, if the tokens are for one."""
    for i, token in enumerate(tokens):
        if token.kind == "slash":
            has_numerator = any(before.kind == "digit" for before in tokens[:i])
            is_fraction = i + 1 < len(tokens) and _is_denominator(tokens[i + 1])
            return i if has_numerator and is_fraction else None
    return None


def _is_denominator(token: Token) -> bool:
    return token.kind == "digit" or (token.kind == "text" and token.text in tuple("123456789"))


class _Digits:
    """Shows decimals: `0` is always a digit, `#` one if it counts, `?` one or a space."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        places = [i for i, token in enumerate(tokens) if token.kind == "digit"]
        self.count = len(places)
        last = places[-1] if places else -1
        point = next((i for i, token in enumerate(tokens) if token.kind == "point"), len(tokens))
        self._scale = sum(token.kind == "comma" for token in tokens[last + 1 :])
        self._is_grouped = any(token.kind == "comma" for token in tokens[: min(last, point)])
        plain_tokens = [token if token.kind != "comma" else Token("text", "") for token in tokens]
        self._whole, self._decimals = plain_tokens[:point], plain_tokens[point + 1 :]
        self.whole_count = sum(token.kind == "digit" for token in self._whole)
        self._decimal_count = min(self.count - self.whole_count, MAX_DIGITS)
        self._step = Decimal(1).scaleb(-self._decimal_count)

    def round(self, number: Decimal) -> Decimal:
        scaled = number.scaleb(-3 * self._scale, ROUNDING) if self._scale else number
        return scaled.quantize(self._step, context=ROUNDING)

    def format(self, number: Decimal) -> str:
        whole, _, decimals = f"{self.round(number):f}".partition(".")
        decimal_part = self._format_decimals(decimals)
        reversed_parts = list(self._write_whole(whole.lstrip("0")))
        return "".join(reversed(reversed_parts)) + decimal_part

    def _write_whole(self, digits: str) -> Iterator[str]:
        """Yield what is before the decimal point from right to left."""
        left, written = self.whole_count, 0
        if not left:
            yield digits
        for token in reversed(self._whole):
            if token.kind != "digit":
                yield token.text
                continue
            left -= 1
            current_digit = digits[-1:] or {"0": "0", "?": " "}.get(token.text, "")
            digits = digits[:-1]
            leading_digits, digits = (digits, "") if left == 0 else ("", digits)
            for digit in reversed(leading_digits + current_digit):
                if self._is_grouped and written and written % 3 == 0 and digit != " ":
                    yield ","
                yield digit
                written += 1

    def _format_decimals(self, digits: str) -> str:
        """Return the point and what follows it."""
        needed = self._count_needed_decimals(digits)
        parts, i = [], 0
        for token in self._decimals:
            if token.kind == "digit":
                parts.append(digits[i : i + 1] if i < needed else " " if token.text == "?" else "")
                i += 1
            else:
                parts.append(token.text)
        return ("." if needed else "") + "".join(parts)

    def _count_needed_decimals(self, digits: str) -> int:
        """Return how many decimals are shown: zeros at the end only where the format has `0`."""
        marks = [token.text for token in self._decimals if token.kind == "digit"]
        needed = self._decimal_count
        while needed and digits[needed - 1] == "0" and marks[needed - 1] != "0":
            needed -= 1
        return needed
