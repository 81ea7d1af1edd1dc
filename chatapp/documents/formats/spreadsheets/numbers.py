"""Numbers of spreadsheets as decimals, and as they are shown without a format."""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
INTEGER = re.compile("-?[1-9][0-9]{0,20}|0")
MAX_LENGTH = 400
MAX_EXPONENT = 308  # of a double
MAX_WHOLE_EXPONENT = 20  # of numbers whose digits are all shown
MIN_PLAIN_EXPONENT = -5
# Spreadsheets keep 15 digits: what follows them is an error of the binary fraction.
SPREADSHEET_PRECISION = Context(prec=15, rounding=ROUND_HALF_EVEN)
FULL_PRECISION = Context(prec=1_000)


def parse_number(text: str) -> Decimal | None:
    """Return the number, or None if the text is none or is larger than a double."""
    if len(text) > MAX_LENGTH or not NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    if not number:
        return Decimal(0)
    exponent = number.adjusted()
    if abs(exponent) > MAX_EXPONENT:
        return None
    digits = number.as_tuple().digits
    if len(digits) <= SPREADSHEET_PRECISION.prec or number == number.to_integral_value(
        context=FULL_PRECISION
    ):
        return number
    return SPREADSHEET_PRECISION.plus(number)


def format_plain(text: str) -> str:
    """Return a number as it is shown without a format, but whole numbers with all their digits."""
    if INTEGER.fullmatch(text):
        return text
    number = parse_number(text)
    if number is None:
        return text
    return format_decimal(number)


def format_decimal(number: Decimal) -> str:
    number = number.normalize(FULL_PRECISION)
    if MIN_PLAIN_EXPONENT < number.adjusted() <= MAX_WHOLE_EXPONENT or not number:
        return f"{number:f}"
    mantissa = number.scaleb(-number.adjusted(), FULL_PRECISION)
    return f"{mantissa:f}E{number.adjusted():+03}"
