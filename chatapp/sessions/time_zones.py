"""The viewer's time zone, as an offset from UTC in a cookie.

static/js/preload.js sets the cookie; without it the zone is UTC.
"""

import re
from datetime import timedelta, timezone

WESTMOST, EASTMOST = -12 * 60, 14 * 60  # minutes: the extremes in use


def parse_time_zone(cookie: str) -> timezone:
    """Return the zone for the cookie's minutes, or UTC if they are not a possible offset."""
    minutes = int(cookie) if re.fullmatch(r"-?[0-9]{1,3}", cookie) else 0
    return timezone(timedelta(minutes=minutes if WESTMOST <= minutes <= EASTMOST else 0))
