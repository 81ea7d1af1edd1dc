"""Background jobs: one process runs each, and another goes on with it if that process dies."""

import queue
import threading
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from django.db import OperationalError, transaction

from chatapp.models import Process, User
from chatapp.models.platform.jobs import Job, JobFailed, JobLost, JobState
from chatapp.realtime.worker import jobs
from chatapp.realtime.worker.jobs import BROKEN, DEACTIVATED, Jobs, Steps
from tests.support.errands import Errand, errands  # noqa: F401 - a fixture

PATIENCE = 60.0  # s
Kinds = dict[type[Job], Steps]


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the progress after each step."""
    monkeypatch.setattr(jobs, "SAVE_SECONDS", -1.0)


@pytest.fixture
def local_jobs(errands: Kinds) -> Jobs:  # noqa: F811
    return Jobs(alive().pk)


def alive() -> Process:
    process = Process.current(is_alone=False)
    process.record_heartbeat()
    return process


def counting(job: Errand) -> Iterator[None]:
    """Take three steps, going on after those that were taken."""
    job.total = 3
    while job.done < 3:
        job.done += 1
        yield


def failing(error: Exception) -> Callable[[Errand], Iterator[None]]:
    def steps(job: Errand) -> Iterator[None]:
        yield
        raise error

    return steps


def test_a_job_is_run_to_its_end(alice: User, local_jobs: Jobs, errands: Kinds) -> None:  # noqa: F811
    errands[Errand] = counting
    job = Errand.objects.create(user=alice)
    local_jobs.run_all()
    job.refresh_from_db()
    assert (job.state, job.done, job.percent) == (JobState.DONE, 3, 100)
    assert job.started_at
    assert job.ended_at
    assert not job.run_by
    assert job.progress == {"percent": 100, "state": "done", "has_ended": True}


def test_jobs_are_run_in_the_order_in_which_they_were_asked_for(
    alice: User,
    bob: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    errand_ids = [Errand.objects.create(user=user).pk for user in (alice, bob, alice)]
    run = []

    def steps(job: Errand) -> Iterator[None]:
        run.append(job.pk)
        yield

    errands[Errand] = steps
    local_jobs.run_all()
    assert run == errand_ids


def test_a_job_that_a_living_process_runs_is_left_alone(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    errands[Errand] = counting
    job = Errand.objects.create(user=alice, state=JobState.RUNNING, run_by=alive().pk)
    local_jobs.run_all()
    job.refresh_from_db()
    assert job.state == JobState.RUNNING


def test_a_job_of_a_dead_process_is_taken_up_again(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    errands[Errand] = counting
    job = Errand.objects.create(user=alice, state=JobState.RUNNING, run_by=uuid4(), done=2)
    local_jobs.run_all()
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, 3)


def test_a_process_that_lost_its_job_stops_and_changes_nothing(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    other = alive()
    ended = []

    def steps(job: Errand) -> Iterator[None]:
        job.done = 1
        try:
            Errand.objects.update(run_by=other.pk, done=2)
            yield
        finally:
            ended.append(job.pk)

    errands[Errand] = steps
    job = Errand.objects.create(user=alice)
    local_jobs.run_all()
    job.refresh_from_db()
    assert (job.state, job.run_by, job.done) == (JobState.RUNNING, other.pk, 2)
    assert ended == [job.pk]


def test_a_job_stops_when_its_person_is_deactivated(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    def steps(job: Errand) -> Iterator[None]:
        job.done = 1
        yield
        User.objects.filter(pk=alice.pk).update(is_active=False)
        yield
        job.done = 2
        yield

    errands[Errand] = steps
    job = Errand.objects.create(user=alice)
    local_jobs.run_all()
    job.refresh_from_db()
    assert (job.state, job.problem, job.done) == (JobState.FAILED, DEACTIVATED, 1)


def test_a_process_that_lost_its_job_cannot_lock_it(alice: User, errands: Kinds) -> None:  # noqa: F811
    job = Errand.objects.create(user=alice, state=JobState.RUNNING, run_by=uuid4())
    with transaction.atomic():
        job.lock()
    Errand.objects.update(run_by=uuid4())
    with transaction.atomic(), pytest.raises(JobLost):
        job.lock()


def test_a_waiting_job_is_cancelled_at_once(alice: User, errands: Kinds) -> None:  # noqa: F811
    job = Errand.objects.create(user=alice)
    assert job.ask_to_cancel()
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not job.ask_to_cancel()


def test_a_running_job_is_cancelled_after_its_step(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    def steps(job: Errand) -> Iterator[None]:
        assert job.ask_to_cancel()
        yield
        raise AssertionError("it goes on")

    errands[Errand] = steps
    job = Errand.objects.create(user=alice)
    local_jobs.run_all()
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED


def test_a_job_can_wait_again_when_it_has_ended(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    run = []

    def steps(job: Errand) -> Iterator[None]:
        run.append(job.again)
        yield

    errands[Errand] = steps
    Errand.objects.create(user=alice, again=True)
    local_jobs.run_all()
    assert run == [True, False]


def test_a_failure_is_shown_as_its_sentence(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
) -> None:
    for error, problem in ((JobFailed("It is full."), "It is full."), (KeyError("x"), BROKEN)):
        errands[Errand] = failing(error)
        job = Errand.objects.create(user=alice)
        local_jobs.run_all()
        job.refresh_from_db()
        assert (job.state, job.problem) == (JobState.FAILED, problem)
    assert "failed" in caplog.text


def test_a_job_is_taken_up_again_after_an_error_of_the_database(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    errands[Errand] = failing(OperationalError("gone"))
    job = Errand.objects.create(user=alice)
    with pytest.raises(OperationalError):
        local_jobs.run_all()
    errands[Errand] = counting
    local_jobs.run_all()
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_threads_run_new_jobs_and_leave_unfinished_ones_when_they_stop(
    alice: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "POLL_SECONDS", 1000.0)
    has_begun = threading.Event()

    def endless(job: Errand) -> Iterator[None]:
        while True:
            has_begun.set()
            yield

    errands[Errand] = endless
    local_jobs.start()
    job = Errand.objects.create(user=alice)
    local_jobs.wake()
    assert has_begun.wait(PATIENCE)
    local_jobs.stop()
    job.refresh_from_db()
    assert (job.state, job.run_by) == (JobState.WAITING, None)


def test_one_job_of_a_person_runs_at_a_time_and_others_do_not_wait(
    alice: User,
    bob: User,
    local_jobs: Jobs,
    errands: Kinds,  # noqa: F811
) -> None:
    may_end, run = threading.Event(), queue.Queue[Errand]()

    def steps(job: Errand) -> Iterator[None]:
        run.put(job)
        while job.user_id == alice.pk and not may_end.wait(0.01):
            yield

    errands[Errand] = steps
    first, second, bobs = (Errand.objects.create(user=user) for user in (alice, alice, bob))
    local_jobs.start()
    running_ids = {run.get(timeout=PATIENCE).pk for _ in range(2)}
    assert running_ids == {first.pk, bobs.pk}
    second.refresh_from_db()
    assert second.state == JobState.WAITING
    may_end.set()
    assert run.get(timeout=PATIENCE) == second
    local_jobs.stop()


def test_unstarted_threads_can_be_stopped() -> None:
    Jobs(uuid4()).stop()


def test_a_stopped_process_claims_no_job(alice: User, local_jobs: Jobs, errands: Kinds) -> None:  # noqa: F811
    errands[Errand] = counting
    job = Errand.objects.create(user=alice)
    local_jobs.stop()
    local_jobs.run_all()
    job.refresh_from_db()
    assert (job.state, job.run_by) == (JobState.WAITING, None)
