"""Dates and times of spreadsheets, which are numbers of days, in ISO 8601.

See ECMA-376, part 1, 18.17.4. Lotus 1-2-3 took 1900 for a leap year, and Excel still does: its day
60 is February 29, 1900, so dates before it count from another day than those after it.
"""

import datetime
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

LAST_DAY = 2_958_465  # 9999-12-31
FAULTY_DAY = 60
DAY_BEFORE_1900 = datetime.date(1899, 12, 31)
FIRST_DAY_OF_1904 = datetime.date(1904, 1, 1)
DAYS_TO_1904 = 1_462
SECONDS_OF_DAY = 86_400
MAX_DAYS = 10**9  # of a duration


@dataclass(frozen=True)
class DateFormat:
    """The parts of a date, a time or a duration that a number format shows."""

    has_date: bool
    has_time: bool
    has_seconds: bool
    decimals: int  # of the seconds
    elapsed: str = ""  # "h", "m" or "s" if it is a duration: the unit that has no limit


def format_date(days: Decimal, date_format: DateFormat, is_1904: bool) -> str | None:
    """Return the date or time, or None if the number is none."""
    if date_format.elapsed:
        return _format_duration(days, date_format)
    if not 0 <= days <= LAST_DAY + 1:
        return None
    step = Decimal(1).scaleb(-date_format.decimals) if date_format.has_seconds else Decimal("0.001")
    seconds = (days * SECONDS_OF_DAY).quantize(step, ROUND_HALF_UP)
    day, second = divmod(seconds, SECONDS_OF_DAY)
    date = _format_day(int(day), is_1904)
    if date is None or not date_format.has_time:
        return date
    time = _format_time(second, date_format)
    if not date_format.has_date:
        return time
    return f"{date} {time}" if second else date


def _format_day(day: int, is_1904: bool) -> str | None:
    if is_1904:
        if day > LAST_DAY - DAYS_TO_1904:
            return None
        return str(FIRST_DAY_OF_1904 + datetime.timedelta(day))
    if day in (0, FAULTY_DAY):
        return "1900-02-29" if day else "1900-01-00"  # as Excel shows them
    if day > LAST_DAY:
        return None
    return str(DAY_BEFORE_1900 + datetime.timedelta(day - (day > FAULTY_DAY)))


def _format_time(second: Decimal, date_format: DateFormat) -> str:
    minutes, remainder = divmod(second, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{int(hours):02}:{int(minutes):02}" + (_format_seconds(remainder, date_format))


def _format_duration(days: Decimal, date_format: DateFormat) -> str | None:
    if abs(days) > MAX_DAYS:
        return None
    step = Decimal(1).scaleb(-date_format.decimals) if date_format.has_seconds else Decimal("0.001")
    seconds = abs(days * SECONDS_OF_DAY).quantize(step, ROUND_HALF_UP)
    sign = "-" if days < 0 and seconds else ""
    if date_format.elapsed == "s":
        return f"{sign}{seconds:f}"
    minutes, remainder = divmod(seconds, 60)
    if date_format.elapsed == "m":
        return f"{sign}{int(minutes)}{_format_seconds(remainder, date_format)}"
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{int(hours)}:{int(minutes):02}{_format_seconds(remainder, date_format)}"


def _format_seconds(seconds: Decimal, date_format: DateFormat) -> str:
    if not date_format.has_seconds:
        return ""
    width = date_format.decimals + 3 if date_format.decimals else 2
    return f":{seconds:0{width}.{date_format.decimals}f}"
