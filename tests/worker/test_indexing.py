"""What is written is indexed soon, in a thread of its own, whatever went wrong before."""

import threading
from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError

from chatapp.models.search_entries import MESSAGES_AT_ONCE
from chatapp.worker import indexing
from chatapp.worker.indexing import Indexing

PATIENCE = 60.0  # s


class Work:
    """What there is to be done: each item a number of messages, or what goes wrong."""

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


Begin = Callable[[Work], Indexing]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.0)
    begun: list[Indexing] = []

    def begin(work: Work) -> Indexing:
        monkeypatch.setattr(indexing, "index_some", work)
        begun.append(Indexing())
        begun[-1].start()
        return begun[-1]

    yield begin
    for one in begun:
        one.stop()


def test_what_was_there_before_is_done_first(begin: Begin) -> None:
    work = Work(20, 20, 3)
    begin(work)
    assert work.is_done.wait(PATIENCE)
    assert work.threads == {"indexing"}


def test_where_much_is_left_nothing_is_waited_for(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(MESSAGES_AT_ONCE, MESSAGES_AT_ONCE, 3)
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 1000.0)
    begin(work)
    for _ in range(3):
        assert work.looks.acquire(timeout=PATIENCE)


def test_what_is_new_is_done_when_it_is_told(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "LOOK_SECONDS", 1000.0)
    work = Work()
    running = begin(work)
    assert work.looks.acquire(timeout=PATIENCE)
    running.look()
    assert work.looks.acquire(timeout=PATIENCE)


@pytest.mark.parametrize("trouble", [OperationalError("gone"), ValueError("a bad text")])
def test_whatever_goes_wrong_it_looks_again(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    monkeypatch.setattr(indexing, "LOOK_SECONDS", 0.01)
    work = Work(trouble, 5)
    begin(work)
    assert work.is_done.wait(PATIENCE)


def test_one_that_never_began_stops() -> None:
    Indexing().stop()
