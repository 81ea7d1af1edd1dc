"""The installation's time zone, in which days and months of usage and limits begin."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.conf import settings


def zone() -> ZoneInfo:
    return ZoneInfo(settings.CHATAPP_TIME_ZONE)


def day_of(moment: datetime) -> date:
    """Return the day of a moment in the installation's time zone."""
    return moment.astimezone(zone()).date()
