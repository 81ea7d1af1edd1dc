"""The writing side: private, bounded, removed when no longer needed, and never in the way."""

import logging
import stat
from pathlib import Path
from uuid import uuid4

import pytest

from chatapp.realtime.journal import Journal
from chatapp.realtime.journal import writing as module
from chatapp.realtime.journal.records import EventsReceived, Heading, RequestSent, read_records
from chatapp.upstream.wire.events import AnswerDelta
from tests.realtime.journal.conftest import Writing


def reads(writing: Writing) -> int:
    return sum(
        isinstance(record, EventsReceived) for record in read_records(writing.file.read_bytes())
    )


def test_events_are_in_the_file_at_once_and_private(writing: Writing) -> None:
    writing.append_events(AnswerDelta("It "))
    assert reads(writing) == 1
    writing.append_events(AnswerDelta("is."))
    assert reads(writing) == 2
    assert stat.S_IMODE(writing.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(writing.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(writing.folder.parent.stat().st_mode) == 0o700


def test_a_saved_reply_leaves_no_file_and_a_stopped_process_no_folder(writing: Writing) -> None:
    writing.append_events(AnswerDelta("It is."))
    writing.segment.discard()
    assert list(writing.folder.iterdir()) == []
    assert writing.journal.size == 0
    writing.journal.close()
    assert not writing.folder.exists()


def test_when_another_model_is_asked_only_what_follows_counts(writing: Writing) -> None:
    for _ in range(2):
        writing.send_request()
        writing.segment.restart()  # before there is a file, and after
        writing.send_request()
        writing.append_events(AnswerDelta("It is."))
        kinds = [type(record) for record in read_records(writing.file.read_bytes())]
        assert kinds[:3] == [Heading, RequestSent, EventsReceived]
    assert len(kinds) == 3
    assert writing.journal.size == writing.file.stat().st_size
    writing.segment.discard()
    writing.segment.restart()
    assert not list(writing.folder.iterdir())


@pytest.mark.parametrize("bound", ["MAX_BYTES", "MAX_PROCESS_BYTES"])
def test_a_file_that_reaches_its_limit_is_switched_off(
    writing: Writing,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    bound: str,
) -> None:
    monkeypatch.setattr(module, bound, 1000)
    for _ in range(100):
        writing.append_events(AnswerDelta("x" * 50))
    assert not writing.segment.is_on
    assert 0 < reads(writing) < 100
    assert writing.file.stat().st_size <= 1000
    assert caplog.text.count("The journal in") == 1
    assert writing.journal.size == 0


def test_a_failing_write_logs_a_line_and_affects_no_reply(
    data_dir: Path, writing: Writing, caplog: pytest.LogCaptureFixture
) -> None:
    writing.folder.chmod(0o700)
    writing.append_events(AnswerDelta("kept"))
    for _ in range(3):  # the file exists already, so creating it fails
        other = writing.journal.open(writing.message.pk)
        other.append([AnswerDelta("lost")])
        assert not other.is_on
        other.discard()
    assert caplog.text.count("The journal in") == 1
    assert caplog.records[0].levelno == logging.ERROR
    assert writing.segment.is_on
    assert reads(writing) == 1


def test_no_file_is_created_before_something_arrives(writing: Writing) -> None:
    writing.send_request()
    assert list(writing.folder.iterdir()) == []
    assert writing.segment.is_on
    writing.append_events(AnswerDelta("It is."))
    heading, *_, asking, arrived = read_records(writing.file.read_bytes())
    assert isinstance(heading, Heading)
    assert isinstance(asking, RequestSent)
    assert isinstance(arrived, EventsReceived)


def test_without_a_folder_there_is_no_journal(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (data_dir / "journal").touch()
    journal = Journal(uuid4())
    segment = journal.open(uuid4())
    segment.append([AnswerDelta("lost")])
    segment.discard()
    journal.close()
    assert not segment.is_on
    assert caplog.text.count("The journal in") == 1
