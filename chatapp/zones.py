"""The zone of who looks: how far their clock is from UTC, as a cookie says.

static/js/early.js keeps it; without one it is UTC.
"""

import re
from datetime import timedelta, timezone

WESTMOST, EASTMOST = -12 * 60, 14 * 60  # minutes from UTC that clocks have anywhere


def zone_of(cookie: str) -> timezone:
    """The zone of the minutes that the cookie says, where they can be those of a place."""
    minutes = int(cookie) if re.fullmatch(r"-?[0-9]{1,3}", cookie) else 0
    return timezone(timedelta(minutes=minutes if WESTMOST <= minutes <= EASTMOST else 0))
