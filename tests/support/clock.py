"""The host's clock, stepped while the app runs."""

import datetime as real
from collections.abc import Callable
from typing import Self

import pytest
from django.utils import timezone

HOUR = 3600
Step = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Step:
    """Return a function that steps the host's clock by a number of seconds."""
    stepped = real.timedelta()

    class Clock(real.datetime):
        @classmethod
        def now(cls, tz: real.tzinfo | None = None) -> Self:
            return super().now(tz) + stepped

    def step(seconds: float) -> None:
        nonlocal stepped
        stepped += real.timedelta(seconds=seconds)

    monkeypatch.setattr(timezone, "datetime", Clock)
    return step
