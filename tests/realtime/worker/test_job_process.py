"""The server's side of the process for jobs."""

import threading
import time
from types import SimpleNamespace
from uuid import uuid4

import pytest

from chatapp.realtime.worker import job_process
from chatapp.realtime.worker.job_process import JobProcess

PATIENCE = 60.0  # s


def test_the_server_indexes_again_once_the_process_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a_job = SimpleNamespace(exists=lambda: True)
    monkeypatch.setattr(job_process, "kinds", {"a kind": None})
    monkeypatch.setattr(job_process, "find_free", lambda *_: a_job)
    monkeypatch.setattr(job_process, "START", "pass")
    is_indexed_there: list[bool] = []
    has_told = threading.Event()

    def has_ended() -> None:
        is_indexed_there.append(jobs.index())
        has_told.set()

    jobs = JobProcess(uuid4(), lambda _: None, has_ended)
    jobs.start()
    assert has_told.wait(PATIENCE)
    jobs.stop()
    assert is_indexed_there == [False]


def test_news_that_comes_while_the_process_ends_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    a_job = SimpleNamespace(exists=lambda: True)
    monkeypatch.setattr(job_process, "kinds", {"a kind": None})
    monkeypatch.setattr(job_process, "find_free", lambda *_: a_job)
    monkeypatch.setattr(job_process, "START", "import select; select.select([0], [], [])")
    has_ended = threading.Event()
    jobs = JobProcess(uuid4(), lambda _: None, has_ended.set)
    jobs.start()
    while not jobs.index():  # the process ends without reading this
        time.sleep(0.001)
    assert has_ended.wait(PATIENCE)
    jobs.stop()
    assert "failed" not in caplog.text
