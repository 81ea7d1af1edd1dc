"""Progress of long work."""

import pytest

from chatapp.management.backups import progress
from chatapp.management.backups.progress import Progress


def test_only_long_work_reports_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    chunks = [bytes(1 << 20)] * 2
    assert list(Progress(lines.append, "Writing", 2 << 20).count_bytes(chunks)) == chunks
    assert lines == []
    monkeypatch.setattr(progress, "EVERY_SECONDS", -1)
    list(Progress(lines.append, "Writing", 2 << 20).count_bytes(chunks))
    assert lines == ["Writing: 1 of 2 MB", "Writing: 2 of 2 MB"]
