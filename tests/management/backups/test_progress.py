"""How far long work is."""

import pytest

from chatapp.management.backups import progress
from chatapp.management.backups.progress import Progress


def test_long_work_tells_how_far_it_is_and_quick_work_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    chunks = [bytes(1 << 20)] * 2
    assert list(Progress(told.append, "Writing", 2 << 20).counted(chunks)) == chunks
    assert told == []
    monkeypatch.setattr(progress, "EVERY_SECONDS", -1)
    list(Progress(told.append, "Writing", 2 << 20).counted(chunks))
    assert told == ["Writing: 1 of 2 MB", "Writing: 2 of 2 MB"]
