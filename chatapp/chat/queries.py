"""What a query string says, where it says anything that can be used."""

from datetime import UTC, datetime
from uuid import UUID

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware


def uuid_of(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def number_of(text: str) -> int:
    """0 where it is none, or too large to be one of anything here."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def moment_of(text: str) -> datetime | None:
    try:
        moment = parse_datetime(text)
        return moment.astimezone(UTC) if moment and is_aware(moment) else None
    except (ValueError, OverflowError):  # a day that no calendar has, or that is none in UTC
        return None
