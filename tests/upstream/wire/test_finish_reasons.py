"""Every word has one meaning, however it is written."""

from itertools import combinations

from chatapp.upstream.wire.finish_reasons import FILTERED, KNOWN, LENGTH, REFUSED, WHOLE, plain


def test_no_word_means_two_things() -> None:
    for some, others in combinations((WHOLE, LENGTH, FILTERED, REFUSED), 2):
        assert not some & others


def test_words_are_known_in_capitals_too() -> None:
    assert plain(" MAX_TOKENS ") in LENGTH
    assert plain("SAFETY") in FILTERED
    assert {plain(word) for word in KNOWN} == KNOWN
