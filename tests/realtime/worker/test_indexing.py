"""New messages are indexed soon, in a thread of its own, even after earlier failures."""

import threading
from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError

from chatapp.models.search.search_entries import MESSAGES_AT_ONCE
from chatapp.realtime.worker import indexing
from chatapp.realtime.worker.indexing import Indexing

PATIENCE = 60.0  # s


class Work:
    """A fake `index_some`: each item is a number of indexed messages or an error to raise."""

    def __init__(self, *items: "int | Exception") -> None:
        self.items = list(items)
        self.threads: set[str] = set()
        self.is_done = threading.Event()
        self.looks = threading.Semaphore(0)

    def __call__(self) -> int:
        self.threads.add(threading.current_thread().name)
        self.looks.release()
        if not self.items:
            self.is_done.set()
            return 0
        item = self.items.pop(0)
        if isinstance(item, Exception):
            raise item
        return item


@pytest.fixture(autouse=True)
def unindexed_states(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether messages are left to index after each portion that isn't full; no if it is empty."""
    states: list[bool] = []
    monkeypatch.setattr(indexing, "is_any_unindexed", lambda: bool(states) and states.pop(0))
    return states


Begin = Callable[[Work], Indexing]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.0)
    threads: list[Indexing] = []

    def begin(work: Work) -> Indexing:
        monkeypatch.setattr(indexing, "index_some", work)
        threads.append(Indexing())
        threads[-1].start()
        return threads[-1]

    yield begin
    for indexing_thread in threads:
        indexing_thread.stop()


def test_existing_messages_are_indexed_at_the_start(begin: Begin) -> None:
    work = Work(20, 20, 3)
    begin(work)
    assert work.is_done.wait(PATIENCE)
    assert work.threads == {"indexing"}


def test_there_is_no_pause_while_much_is_left(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(MESSAGES_AT_ONCE, MESSAGES_AT_ONCE, 3)
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 1000.0)
    begin(work)
    for _ in range(3):
        assert work.looks.acquire(timeout=PATIENCE)


def test_news_wakes_the_thread(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "POLL_SECONDS", 1000.0)
    work = Work()
    running = begin(work)
    assert work.looks.acquire(timeout=PATIENCE)
    running.wake()
    assert work.looks.acquire(timeout=PATIENCE)


@pytest.mark.parametrize("error", [OperationalError("gone"), ValueError("a bad text")])
def test_indexing_goes_on_after_an_error(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(indexing, "POLL_SECONDS", 0.01)
    work = Work(error, 5)
    begin(work)
    assert work.is_done.wait(PATIENCE)


def test_nothing_is_indexed_here_while_another_process_does_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(20)
    monkeypatch.setattr(indexing, "index_some", work)
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(indexing, "POLL_SECONDS", 0.01)
    calls: list[int] = []

    def is_done_elsewhere() -> bool:
        calls.append(len(work.items))
        return len(calls) < 3

    running = Indexing(is_done_elsewhere)
    running.start()
    assert work.is_done.wait(PATIENCE)
    running.stop()
    assert calls[:3] == [1, 1, 1]


def test_a_process_that_does_nothing_else_rests_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "REST", 10**9)
    work = Work(MESSAGES_AT_ONCE, MESSAGES_AT_ONCE)
    monkeypatch.setattr(indexing, "index_some", work)
    running = Indexing(is_alone=lambda: True)
    running.start()
    assert work.is_done.wait(PATIENCE)
    running.stop()


def test_it_is_behind_while_portions_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "REST", 0.0)
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(indexing, "POLL_SECONDS", 0.01)
    work = Work(MESSAGES_AT_ONCE, 3, MESSAGES_AT_ONCE, ValueError("a bad text"))
    running = Indexing()
    states: list[bool] = []

    def index_some() -> int:
        states.append(running.is_behind)
        return work()

    monkeypatch.setattr(indexing, "index_some", index_some)
    running.start()
    assert work.is_done.wait(PATIENCE)
    running.stop()
    assert states[:5] == [False, True, False, True, False]


def test_it_is_behind_while_long_messages_are_left(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, unindexed_states: list[bool]
) -> None:
    monkeypatch.setattr(indexing, "REST", 0.0)
    unindexed_states[:] = [True, False]
    states: list[bool] = []

    class Watched(Work):
        def __call__(self) -> int:
            states.append(running.is_behind if has_begun.wait(PATIENCE) else True)
            return super().__call__()

    has_begun = threading.Event()
    work = Watched(3, 2)
    running = begin(work)
    has_begun.set()
    assert work.is_done.wait(PATIENCE)
    assert states == [False, True, False]


def test_an_unstarted_thread_can_be_stopped() -> None:
    Indexing().stop()
