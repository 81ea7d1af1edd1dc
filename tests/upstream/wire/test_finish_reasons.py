"""Every finish_reason has one meaning, in any spelling."""

from itertools import combinations

from chatapp.upstream.wire.finish_reasons import FILTERED, KNOWN, LENGTH, REFUSED, WHOLE, normalise


def test_no_finish_reason_has_two_meanings() -> None:
    for some, others in combinations((WHOLE, LENGTH, FILTERED, REFUSED), 2):
        assert not some & others


def test_finish_reasons_are_recognised_in_upper_case() -> None:
    assert normalise(" MAX_TOKENS ") in LENGTH
    assert normalise("SAFETY") in FILTERED
    assert {normalise(word) for word in KNOWN} == KNOWN
