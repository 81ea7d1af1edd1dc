"""The size of a model's context, from the best source that knows it."""

from chatapp.models.billing.prices import Price
from chatapp.models.platform.upstreams import Upstream


def context_window(upstream: Upstream | None, model: str) -> int | None:
    """Return how many tokens a model takes, or None if nothing is known.

    In this order: an administrator's figure, and the smaller one of what a refusal said and what
    the gateway's list or the price library says.
    """
    if upstream is None:
        return None
    return upstream.find_context_tokens(model, Price.find_context_tokens(upstream.pk, model))
