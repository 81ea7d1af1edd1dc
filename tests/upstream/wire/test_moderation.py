"""Moderation results of the specified shape are kept, and others ignored."""

import pytest

from chatapp.upstream.wire.moderation import (
    ModerationFailure,
    ModerationResult,
    ModerationResults,
    read_moderation,
)

RESULT = {
    "type": "moderation_result",
    "flagged": True,
    "categories": {"violence": True, "self-harm": False, "hate": None},
    "category_scores": {"violence": 0.9, "self-harm": 0, "hate": None},
    "category_applied_input_types": {"violence": ["text"], "hate": None},
    "model": "omni",
}


def test_results_keep_categories_and_scores() -> None:
    content = {"type": "moderation_results", "model": "omni", "results": [RESULT, {}, RESULT]}
    moderation = read_moderation(content)
    assert isinstance(moderation, ModerationResults)
    assert moderation.is_flagged
    assert moderation.categories == ["violence"]
    applied = {"violence": ("text",), "hate": ()}
    scores = {"violence": 0.9, "self-harm": 0.0}
    result = ModerationResult(True, ("violence",), scores, applied, "omni")
    assert moderation.results == (result, ModerationResult(False, (), {}, {}), result)


def test_a_failed_moderation_keeps_its_reason() -> None:
    content = {"type": "error", "code": 500, "message": "bad key sk-a-secret-key"}
    expected = ModerationFailure("500", "bad key ***")
    assert read_moderation(content, "sk-a-secret-key") == expected


@pytest.mark.parametrize(
    "content",
    [None, 5, {}, {"results": 5}, {"results": [5]}, {"results": [{"categories": ["violence"]}]}],
)
def test_an_invalid_result_is_none(content: object) -> None:
    assert read_moderation(content) is None
