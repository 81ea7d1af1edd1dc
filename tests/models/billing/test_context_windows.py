"""Sources of the size of a model's context, and which of them counts."""

import pytest

from chatapp.models import Price, Upstream
from chatapp.models.billing.context_windows import context_window
from chatapp.models.platform.lessons import ContextLesson

pytestmark = pytest.mark.django_db
MODEL = "m"


@pytest.mark.parametrize(
    ("entered", "listed", "refused", "window"),
    [
        (None, None, None, None),
        (None, 8192, None, 8192),
        (None, None, 4096, 4096),
        (None, 40_960, 4096, 4096),
        (None, 4096, 8192, 4096),
        (16_384, 8192, 4096, 16_384),
        (2048, 8192, None, 2048),
    ],
)
def test_an_administrators_figure_counts_most_and_then_the_smaller_one(
    saved_upstream: Upstream,
    entered: int | None,
    listed: int | None,
    refused: int | None,
    window: int | None,
) -> None:
    if listed:
        Price.objects.create(
            upstream=saved_upstream, model=MODEL, source="gateway", context_tokens=listed
        )
    if refused:
        Upstream.learn(saved_upstream.pk, MODEL, [ContextLesson(refused)])
    saved_upstream.refresh_from_db()
    saved_upstream.model_contexts = {MODEL: entered} if entered else None
    assert context_window(saved_upstream, MODEL) == window
    assert context_window(None, MODEL) is None


def test_a_refusal_without_a_size_does_not_replace_one_that_said_it(
    saved_upstream: Upstream,
) -> None:
    for tokens in (4096, None):
        Upstream.learn(saved_upstream.pk, MODEL, [ContextLesson(tokens)])
    saved_upstream.refresh_from_db()
    assert saved_upstream.refused_contexts[MODEL].tokens == 4096
    Upstream.forget_context_refusals(saved_upstream.pk, ["another"])
    saved_upstream.refresh_from_db()
    assert MODEL in saved_upstream.refused_contexts
    Upstream.forget_context_refusals(saved_upstream.pk, [MODEL])
    saved_upstream.refresh_from_db()
    assert not saved_upstream.refused_contexts
