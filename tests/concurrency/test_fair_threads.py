"""The order in which a pool of fair threads runs jobs."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from queue import Queue

import pytest

from chatapp.concurrency.fair_threads import FairThreads
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets

pytestmark = pytest.mark.pure

ANN, BEN, CAROL = 1, 2, 3
Make = Callable[..., FairThreads]


@pytest.fixture
def make() -> Iterator[Make]:
    """Return a function that makes a pool; each is stopped at the end."""
    made = []

    def pool(number: int, seconds: float = 3600.0) -> FairThreads:
        made.append(FairThreads(number, "test", TokenBuckets(lambda: TokenBucket(0, seconds))))
        return made[-1]

    yield pool
    for threads in made:
        threads.stop()


class Gate:
    """A job that says that it has begun, and ends when the test opens it."""

    def __init__(self) -> None:
        self.begun, self.opened = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.opened.wait(60)


def test_several_jobs_of_a_person_may_run_while_people_take_turns() -> None:
    pool, done = FairThreads(2, "test", each=2), Queue[str]()
    first, second = Gate(), Gate()
    for gate in (first, second):
        assert not pool.submit(ANN, 1, gate)
        assert gate.begun.wait(60)
    for name, person in (("Ann's", ANN), ("Ann's other", ANN), ("Ben's", BEN)):
        pool.submit(person, 1, partial(done.put, name))
    first.opened.set()
    assert [done.get(timeout=60) for _ in range(3)] == ["Ann's", "Ben's", "Ann's other"]
    second.opened.set()
    pool.stop()


def test_people_take_turns_and_small_jobs_go_first(make: Make) -> None:
    pool, gate, done = make(1), Gate(), Queue[str]()
    assert not pool.submit(ANN, 1, gate)
    assert gate.begun.wait(60)
    for name, person, size in (
        ("Ann's large", ANN, 9),
        ("Ann's small", ANN, 1),
        ("Ann's other", ANN, 5),
        ("Ben's", BEN, 7),
        ("Carol's", CAROL, 8),
    ):
        assert pool.submit(person, size, partial(done.put, name)) == (person == ANN)
    gate.opened.set()
    order = [done.get(timeout=60) for _ in range(5)]
    assert order == ["Ann's small", "Ben's", "Carol's", "Ann's other", "Ann's large"]


def test_one_person_has_one_job_at_a_time(make: Make) -> None:
    pool, gates, done = make(2), [Gate(), Gate()], Queue[str]()
    for gate in gates:
        pool.submit(ANN, 1, gate)
    assert gates[0].begun.wait(60)
    pool.submit(BEN, 1, partial(done.put, "Ben's"))
    assert done.get(timeout=60) == "Ben's"  # in the other thread
    assert not gates[1].begun.is_set()
    gates[0].opened.set()
    assert gates[1].begun.wait(60)
    gates[1].opened.set()


def test_who_has_used_up_their_seconds_waits(make: Make) -> None:
    pool, gate, done = make(1, seconds=0.0), Gate(), Queue[str]()
    pool.submit(ANN, 1, gate)
    assert gate.begun.wait(60)
    pool.submit(ANN, 1, partial(done.put, "Ann's"))
    pool.submit(BEN, 1, partial(done.put, "Ben's"))
    gate.opened.set()
    assert done.get(timeout=60) == "Ben's"
    assert pool.submit(ANN, 1, partial(done.put, "Ann's"))
    assert done.empty()


def test_a_failed_job_stops_no_thread(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    pool, done = make(1), Queue[str]()
    pool.submit(ANN, 1, partial(int, "no number"))
    pool.submit(BEN, 1, partial(done.put, "Ben's"))
    assert done.get(timeout=60) == "Ben's"
    assert "A job failed" in caplog.text


def test_nothing_begins_after_the_stop(make: Make) -> None:
    pool, gate, done = make(1), Gate(), Queue[str]()
    pool.submit(ANN, 1, gate)
    assert gate.begun.wait(60)
    pool.submit(BEN, 1, partial(done.put, "Ben's"))
    pool.stop()
    gate.opened.set()
    assert done.empty()
