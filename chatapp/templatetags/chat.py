"""Filters of the chat's templates."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.template import RequestContext
from django.utils.crypto import salted_hmac

from chatapp.markdown.allowed import ALLOWED
from chatapp.models import Message, Usage
from chatapp.models.rounds import RunState, ToolRun
from chatapp.upstream.reply import Ending

register = template.Library()

DETAILS = {
    "prompt_tokens": "in",
    "cached_tokens": "of them from cache",
    "cache_write_tokens": "written to cache",
    "prompt_audio_tokens": "audio in",
    "completion_tokens": "out",
    "reasoning_tokens": "of them reasoning",
    "completion_audio_tokens": "audio out",
    "accepted_prediction_tokens": "predicted",
    "rejected_prediction_tokens": "predicted in vain",
}
# Endings at which the upstream had no time to report what the reply cost.
EARLY = frozenset(
    {
        Ending.STOPPED,
        Ending.ABANDONED,
        Ending.INTERRUPTED,
        Ending.CUT_OFF,
        Ending.TIMED_OUT,
        Ending.FAILED,
    }
)


@dataclass(frozen=True)
class Place:
    """Where a message stands among its siblings."""

    number: int
    previous: Message | None
    next: Message | None


@register.simple_tag
def foreign_attributes() -> str:
    """The attributes that rendered text may have, for static/js/foreign.js: a href rel,ol start."""
    return ",".join(" ".join([tag, *forms]) for tag, forms in ALLOWED.items() if forms)


@register.simple_tag(takes_context=True)
def account_token(context: RequestContext) -> str:
    """Names the account in the browser's storage; nobody can guess another's."""
    return salted_hmac("chatapp.account", str(context["request"].user.pk)).hexdigest()[:32]


@register.filter
def seconds(value: float) -> str:
    """A duration as people say it: 30 ms, 0.4 s, 12 s, 3 min 5 s."""
    if value < 0.1:
        return f"{value * 1000:.0f} ms"
    if value < 9.95:
        return f"{value:.1f} s" if value % 1 and round(value, 1) % 1 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def usage_details(usage: Usage, ending: str = "") -> str:
    """Every count that is known: 12 in, 4 of them from cache, 18 out; and how, where estimated."""
    if usage.provenance == Usage.Provenance.UNKNOWN:
        return "The model's server reported no usage."
    counts = [
        f"{getattr(usage, field):,} {words}"
        for field, words in DETAILS.items()
        if getattr(usage, field)
    ]
    if usage.provenance == Usage.Provenance.ESTIMATED:
        why = ", since the reply ended early" if ending in EARLY else ""
        counts.append(f"estimated from the length of the text{why}")
        if usage.upper_total_tokens:
            counts.append(f"{usage.upper_total_tokens:,} at most")
    return ", ".join(counts)


@register.filter
def round_usage(record: dict[str, Any]) -> str:
    """What one round of a reply cost, of its record in `Message.earlier_rounds`."""
    return f"{usage_details(Usage(**record))} ({record['provenance']})"


STATE_WORDS = {
    RunState.WRITING: "is being called",
    RunState.ASKING: "waits for you",
    RunState.RUNNING: "is running…",
    RunState.DONE: "done",
    RunState.FAILED: "failed",
    RunState.DENIED: "not allowed",
    RunState.CANCELLED: "cancelled",
}


@register.filter
def state_words(run: ToolRun) -> str:
    return STATE_WORDS[run.state]


@register.filter
def can_continue(message: Message) -> bool:
    """Whether there is a part of a reply to go on from."""
    unfinished = message.ending not in (
        *(Ending.COMPLETE, Ending.REFUSED, Ending.CONTENT_FILTER, Ending.NO_ANSWER),
    )
    return unfinished and bool(message.content or message.earlier_rounds)


@register.filter
def place(message: Message) -> Place:
    ids = [sibling.pk for sibling in message.siblings]
    index = ids.index(message.pk)
    return Place(
        index + 1,
        message.siblings[index - 1] if index else None,
        message.siblings[index + 1] if index + 1 < len(ids) else None,
    )
