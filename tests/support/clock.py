"""The host's clock, stepped while the app runs."""

import datetime as real
from collections.abc import Callable
from types import SimpleNamespace
from typing import Self

import pytest
from django.utils import timezone

from chatapp.models.billing import budget_accounts

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


@pytest.fixture
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep limits on replies a minute in the same minute, however long the test takes."""
    now = timezone.now()
    monkeypatch.setattr(budget_accounts, "timezone", SimpleNamespace(now=lambda: now))
