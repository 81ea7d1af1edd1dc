"""The installation's time zone, in which days and months of usage and limits begin."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings


def zone() -> ZoneInfo:
    return ZoneInfo(settings.CHATAPP_TIME_ZONE)


def get_day(moment: datetime) -> date:
    """Return the day of a moment in the installation's time zone."""
    return moment.astimezone(zone()).date()


def in_words(moment: datetime, now: datetime) -> str:
    """Return a coming moment, for example "tomorrow at 00:00 (UTC)".

    static/js/page/local-times.js replaces the words by those of the browser's time zone.
    """
    local, today = moment.astimezone(zone()), get_day(now)
    days = {today: "today", today + timedelta(days=1): "tomorrow"}
    day = days.get(local.date()) or f"on {local.day} {local:%B}"
    return f"{day} at {local:%H:%M} ({local.tzname()})"
