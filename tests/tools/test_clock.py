"""The built-in tool."""

from datetime import UTC, datetime, timedelta

import pytest

from chatapp.tools.clock import CLOCK, read_clock


def moment_in(text: str) -> datetime:
    return datetime.fromisoformat(text.split()[3])


def test_the_clock_tells_utc_where_no_zone_is_asked_for() -> None:
    result = read_clock({})
    assert abs(moment_in(result.text) - datetime.now(UTC)) < timedelta(minutes=1)
    assert result.text.endswith("+00:00 (UTC).")


def test_the_clock_tells_the_time_of_a_zone() -> None:
    result = read_clock({"timezone": "Asia/Kathmandu"})
    assert moment_in(result.text).utcoffset() == timedelta(hours=5, minutes=45)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "Europe", "/etc", 7, ["UTC"]])
def test_what_is_no_zone_is_said_to_be_none(zone: object) -> None:
    result = read_clock({"timezone": zone})
    assert result.is_error
    assert "is not an IANA time zone" in result.text


def test_the_clock_runs_without_asking() -> None:
    assert not CLOCK.asks_first
