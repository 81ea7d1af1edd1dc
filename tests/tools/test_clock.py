"""The built-in tool."""

from datetime import UTC, datetime, timedelta

import pytest

from chatapp.tools.clock import CLOCK, read_clock


def moment_in(text: str) -> datetime:
    return datetime.fromisoformat(text.split()[3])


def test_the_clock_gives_utc_by_default() -> None:
    result = read_clock({})
    assert abs(moment_in(result.text) - datetime.now(UTC)) < timedelta(minutes=1)
    assert result.text.endswith("+00:00 (UTC).")


def test_the_clock_gives_the_time_in_a_zone() -> None:
    result = read_clock({"timezone": "Asia/Kathmandu"})
    assert moment_in(result.text).utcoffset() == timedelta(hours=5, minutes=45)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "Europe", "/etc", 7, ["UTC"]])
def test_an_invalid_zone_is_an_error(zone: object) -> None:
    result = read_clock({"timezone": zone})
    assert result.is_error
    assert "is not an IANA time zone" in result.text


def test_the_clock_needs_no_permission() -> None:
    assert not CLOCK.asks_first
