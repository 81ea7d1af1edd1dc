"""Who says how large a model's context is, and whose word counts."""

import pytest

from chatapp.models import Price, Upstream
from chatapp.models.billing.context_windows import context_window

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
    connected: Upstream,
    entered: int | None,
    listed: int | None,
    refused: int | None,
    window: int | None,
) -> None:
    if listed:
        Price.objects.create(
            upstream=connected, model=MODEL, source="gateway", context_tokens=listed
        )
    if refused:
        Upstream.remember_context_refusal(connected.pk, MODEL, refused)
    connected.refresh_from_db()
    connected.model_contexts = {MODEL: entered} if entered else None
    assert context_window(connected, MODEL) == window
    assert context_window(None, MODEL) is None


def test_a_refusal_without_a_size_does_not_replace_one_that_said_it(connected: Upstream) -> None:
    for tokens in (4096, None):
        Upstream.remember_context_refusal(connected.pk, MODEL, tokens)
    connected.refresh_from_db()
    assert connected.refused_contexts[MODEL].tokens == 4096
    Upstream.forget_context_refusals(connected.pk, ["another"])
    connected.refresh_from_db()
    assert MODEL in connected.refused_contexts
    Upstream.forget_context_refusals(connected.pk, [MODEL])
    connected.refresh_from_db()
    assert not connected.refused_contexts
