"""The process for jobs ends when there are none, and passes on what the server tells it."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest

from chatapp.management import job_runner
from chatapp.management.job_runner import pass_news_on
from chatapp.realtime.worker.indexing import Indexing
from chatapp.realtime.worker.job_process import NEW_JOB, NEW_MESSAGES
from chatapp.realtime.worker.jobs import Jobs


@dataclass
class Busy:
    """Fake jobs or indexing that have work the first few times they are asked."""

    times: int = 0
    wakes: int = 0
    asked: int = field(default=0, init=False)

    def wake(self) -> None:
        self.wakes += 1

    @property
    def is_behind(self) -> bool:
        self.asked += 1
        return self.asked <= self.times

    @property
    def is_idle(self) -> bool:
        return not self.is_behind


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_runner, "IDLE_SECONDS", 0.01)


def run(connection: socket.socket, jobs: Busy, indexing: Busy) -> None:
    pass_news_on(connection, cast("Jobs", jobs), cast("Indexing", indexing))


Ends = tuple[socket.socket, socket.socket]


@pytest.mark.usefixtures("quick")
def test_it_ends_without_jobs(ends: Ends) -> None:
    run(ends[1], Busy(), Busy())


@pytest.mark.usefixtures("quick")
def test_it_stays_while_a_job_runs(ends: Ends) -> None:
    jobs = Busy(times=3)
    run(ends[1], jobs, Busy())
    assert jobs.asked > 3


@pytest.mark.usefixtures("quick")
def test_it_stays_while_much_is_to_be_indexed(ends: Ends) -> None:
    indexing = Busy(times=3)
    run(ends[1], Busy(), indexing)
    assert indexing.asked > 3


def test_a_closed_socket_ends_it_although_a_job_runs(ends: Ends) -> None:
    ours, theirs = ends
    ours.close()
    run(theirs, Busy(times=1000), Busy())


def test_a_socket_that_is_closed_with_unread_lines_ends_it(ends: Ends) -> None:
    ours, theirs = ends
    theirs.send(b"1\n")  # a killed server has not read it
    ours.close()
    run(theirs, Busy(times=1000), Busy())


@pytest.mark.parametrize(("news", "wakes"), [(NEW_JOB, 1), (NEW_MESSAGES, 0)])
def test_news_wakes_those_whom_it_concerns(ends: Ends, news: bytes, wakes: int) -> None:
    ours, theirs = ends
    ours.send(news)
    ours.shutdown(socket.SHUT_WR)
    jobs, indexing = Busy(), Busy()
    run(theirs, jobs, indexing)
    assert (jobs.wakes, indexing.wakes) == (wakes, 1)
