"""Each kind of error has its advice, separate from the upstream's own words."""

import pytest

from chatapp.checks.results import Status
from chatapp.upstream.check.answers import failed_answer
from chatapp.upstream.check.problems import find_problem, problem_of_error
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_of_error_has_a_description_and_advice(kind: ErrorKind) -> None:
    problem = problem_of_error(UpstreamError(kind, "Oh. No.", status=500, code="odd"), "Fake")
    assert (problem.what, problem.status) == ("Fake", Status.FAILED)
    assert problem.finding.startswith("It ")
    assert not problem.finding.endswith(".")
    assert problem.remedy.endswith(".")
    assert problem.quote == ("odd" if kind is ErrorKind.FINISH_REASON else "500 Oh. No.")


def test_a_failed_answer_gives_the_problem_of_its_error() -> None:
    error = UpstreamError(ErrorKind.UNAUTHORIZED, "wrong key", status=401)
    assert find_problem(failed_answer(error)) == problem_of_error(error)
