"""Each kind of error is told with its cure, and what was said stands apart."""

import pytest

from chatapp.findings import Verdict
from chatapp.upstream.check.answers import failed_answer
from chatapp.upstream.check.problems import problem_of, problem_of_error
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_of_error_has_a_sentence_and_a_cure(kind: ErrorKind) -> None:
    problem = problem_of_error(UpstreamError(kind, "Oh. No.", status=500, code="odd"), "Fake")
    assert (problem.what, problem.verdict) == ("Fake", Verdict.FAILED)
    assert problem.found.startswith("It ")
    assert not problem.found.endswith(".")
    assert problem.cure.endswith(".")
    assert problem.said == ("odd" if kind is ErrorKind.FINISH_REASON else "500 Oh. No.")


def test_an_answer_that_failed_is_the_problem_of_its_error() -> None:
    error = UpstreamError(ErrorKind.UNAUTHORIZED, "wrong key", status=401)
    assert problem_of(failed_answer(error)) == problem_of_error(error)
