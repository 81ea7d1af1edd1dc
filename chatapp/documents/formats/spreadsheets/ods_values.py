"""Values of OpenDocument cells (ODF 1.3, part 3, 19.385): what is displayed, but ISO 8601 dates."""

import datetime
import re

from .formulas import from_opendocument, write_formula
from .numbers import format_decimal, format_plain, parse_number
from .streams import Attributes

VALUES = ("value", "date-value", "time-value", "boolean-value", "string-value")
TIME = re.compile(r"[0-9]\s?(?::|[hH時时시])")  # in what is displayed of a date
ISO_DATE = re.compile(r"-?[0-9]{4,6}-[0-9]{2}-[0-9]{2}")
HALF_SECOND = datetime.timedelta(microseconds=500_000)
DURATION = re.compile(
    r"(-?)P(?:([0-9]{1,9})D)?(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(?:[.,]([0-9]{1,9}))?S)?)?"
)
GENERAL_SCIENTIFIC = re.compile(r"-?[0-9][.,][0-9]{9,}E[+-]?[0-9]+")
ARRAY = "number-matrix-columns-spanned"


def cell_text(attributes: Attributes, display_text: str) -> str:
    """Return the text of a cell from its attributes and what is displayed in it."""
    formula = attributes.get("formula", "")
    has_value = any(name in attributes for name in VALUES)
    if formula and not has_value and not display_text.strip():
        return write_formula(from_opendocument(formula), is_array=ARRAY in attributes)
    match attributes.get("value-type"):
        case "date":
            return _date(attributes.get("date-value", ""), display_text)
        case "time":
            return _time(attributes.get("time-value", ""), display_text)
        case "boolean":
            value = attributes.get("boolean-value", "")
            return {"true": "TRUE", "false": "FALSE"}.get(value, display_text)
        case "float" | "percentage" | "currency" as kind:
            return _number(kind, attributes, display_text)
    return display_text or attributes.get("string-value", "")


def _number(kind: str, attributes: Attributes, display_text: str) -> str:
    value = attributes.get("value", "")
    number = parse_number(value)
    if number is None:
        return display_text
    is_too_narrow = bool(display_text) and not display_text.strip("#")
    if GENERAL_SCIENTIFIC.fullmatch(display_text.strip()) or (
        not display_text.strip() or is_too_narrow
    ):
        if kind == "percentage":
            return f"{format_decimal(number * 100)}%"
        plain = format_plain(value)
        return f"{plain} {attributes.get('currency', '')}".strip() if kind == "currency" else plain
    return display_text


def _date(value: str, display_text: str) -> str:
    if ISO_DATE.fullmatch(value):
        return value
    try:
        moment = datetime.datetime.fromisoformat(value) + HALF_SECOND
    except (ValueError, OverflowError):
        return display_text or value
    if (display_text and not TIME.search(display_text)) or not (
        moment.hour or moment.minute or moment.second
    ):
        return str(moment.date())
    has_seconds = display_text.count(":") > 1 or (not display_text and moment.second)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if has_seconds else f"{moment:%Y-%m-%d %H:%M}"


def _time(value: str, display_text: str) -> str:
    match = DURATION.fullmatch(value)
    if match is None or match[0].endswith("P"):
        return display_text or value
    sign, *parts, fraction = match.groups("")
    days, hours, minutes, seconds = (int(part or 0) for part in parts)
    has_decimals = "." in display_text.replace(",", ".")
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    total += fraction[:1] >= "5" and not has_decimals
    hours, minutes, seconds = total // 3600, total // 60 % 60, total % 60
    short = f"{sign}{hours:02}:{minutes:02}"
    if display_text.strip() in (short, f"{sign}{hours}:{minutes:02}"):
        return short
    decimals = f".{fraction}" if fraction.strip("0") and has_decimals else ""
    return f"{short}:{seconds:02}{decimals}"
