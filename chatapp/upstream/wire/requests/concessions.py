"""Concessions to models that refuse parts of requests which others take.

They are learned from refusals. Each concession leaves something out of later requests, or sends it
in another form, so that the model answers.
"""

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from types import MappingProxyType

from chatapp.upstream.wire.errors.upstream_error import UpstreamError
from chatapp.upstream.wire.requests.history import History


class Concession(StrEnum):
    TOOLS = "tools"  # no tools are offered
    SYSTEM = "system"  # the system message becomes a part of the first prompt
    PARTS = "parts"  # contents are texts, not lists of parts
    BARE_CALLS = "bare_calls"  # calls of other models get empty reasoning
    TOOLS_WITH_EFFORT = "tools_with_effort"  # tools are offered only without reasoning
    SCHEMA_KEYWORDS = "schema_keywords"  # schemas of tools have fewer keywords


# In this order, because a refusal of some form of tools mentions tools, too.
_REFUSAL_CHECKS: Mapping[Concession, Callable[[UpstreamError], bool]] = MappingProxyType(
    {
        Concession.BARE_CALLS: lambda error: error.wants_thoughts_of_calls,
        Concession.SCHEMA_KEYWORDS: lambda error: error.refuses_schema_keywords,
        Concession.TOOLS: lambda error: error.refuses_tools,
        Concession.SYSTEM: lambda error: error.refuses_system,
        Concession.PARTS: lambda error: error.refuses_parts,
    }
)


def concession_for(error: UpstreamError, sent: Collection[Concession]) -> Concession | None:
    """Return the concession that the error asks for, of those that the request had not made."""
    concessions = (
        concession
        for concession, is_refused in _REFUSAL_CHECKS.items()
        if concession in sent and is_refused(error)
    )
    return next(concessions, None)


def apply_concessions(history: History, made: Collection[str]) -> History:
    """Return the history as a model takes it for which these concessions are made."""
    if Concession.SYSTEM in made:
        history = history.without_system()
    return history.with_thoughts_of_calls() if Concession.BARE_CALLS in made else history
