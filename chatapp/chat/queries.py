"""Parses values of a query string; what can't be used becomes None or 0."""

from datetime import UTC, datetime
from uuid import UUID

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware


def parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def parse_number(text: str) -> int:
    """Return the number, or 0 if it is not one or has more than five digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def parse_moment(text: str) -> datetime | None:
    try:
        moment = parse_datetime(text)
        return moment.astimezone(UTC) if moment and is_aware(moment) else None
    except (ValueError, OverflowError):  # an impossible date, or out of range in UTC
        return None
