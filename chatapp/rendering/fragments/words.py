"""Template filters that put a reply's numbers and states into words."""

import json
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from chatapp.catalogue import get_display_name
from chatapp.models import Attachment, FileContent, Message, PresetFile, Usage, User
from chatapp.models.billing.limits import Limit
from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.models.platform import calendar
from chatapp.parameters.table import PARAMETERS
from chatapp.upstream.wire.model_list import Ability, ListedModel
from chatapp.upstream.wire.reply import Ending

DETAILS = {
    "prompt_tokens": "in",
    "cached_tokens": "of them from cache",
    "cache_write_tokens": "written to cache",
    "prompt_audio_tokens": "audio in",
    "completion_tokens": "out",
    "reasoning_tokens": "of them for reasoning",
    "completion_audio_tokens": "audio out",
    "accepted_prediction_tokens": "predicted and accepted",
    "rejected_prediction_tokens": "predicted and rejected",
}
# Of a thumbnail, in pixels.
MOST_WIDE, MOST_HIGH, LEAST_WIDE, ROW_WIDE, ROW_HIGH = 320, 280, 48, 240, 128
LONG_LINES, LONG_CHARACTERS = 12, 1200  # thread/prompt.css shows fewer lines of a long prompt
# Endings that leave the upstream no time to report the reply's usage.
EARLY = frozenset(
    {
        Ending.STOPPED,
        Ending.ABANDONED,
        Ending.INTERRUPTED,
        Ending.CUT_OFF,
        Ending.TIMED_OUT,
        Ending.FAILED,
        Ending.OVER_BUDGET,
    }
)


@dataclass(frozen=True)
class SiblingPosition:
    """A message's position among its siblings."""

    number: int
    previous: Message | None
    next: Message | None


def seconds(value: float) -> str:
    """Format a duration: 30 ms, 0.4 s, 12 s, 3 min 5 s."""
    if value < 0.1:
        return f"{value * 1000:.0f} ms"
    if value < 9.95:
        return f"{value:.1f} s" if value % 1 and round(value, 1) % 1 else f"{value:.0f} s"
    minutes, remainder = divmod(round(value), 60)
    return f"{minutes} min {remainder} s" if minutes else f"{remainder} s"


def token_count(count: int) -> str:
    """Format a context size as models are advertised: 8k, 128k (128,000 or 131,072), 1M."""
    step = 1024 if count % 1024 == 0 and count % 1000 else 1000
    if count >= step**2:
        return f"{count / step**2:.1f}".removesuffix(".0") + "M"
    return f"{count / step:.0f}k" if count >= step else str(count)


def about_model(model: ListedModel) -> str:
    """Return what is known about a model: Good at code · 128k context, vision, tools."""
    context = [f"{token_count(model.context_tokens)} context"] if model.context_tokens else []
    limits = ["text only"] if model.takes_images is False else []
    abilities = (ability.value for ability in Ability if ability in model.abilities)
    listed = ", ".join([*context, *abilities, *limits])
    return " · ".join(filter(None, [model.description, listed]))


def model_name(reply: Message) -> str:
    """Return the display name of the model that wrote the reply."""
    return get_display_name(reply.upstream, reply.model)


def chosen_model(reply: Message) -> str:
    """Return the value in the model picker of the model that the person chose for the reply."""
    return str(reply.chosen_model or "")


def ending_label(ending: str) -> str:
    """Return what lists call an ending; one that a newer version wrote is as it is."""
    return Ending(ending).label if ending in list(Ending) else ending.capitalize()


def usage_details(usage: Usage, ending: str = "") -> str:
    """List every known count (12 in, 4 of them from cache, 18 out) and how it was estimated."""
    if usage.provenance == Usage.Provenance.UNKNOWN:
        return "The model's server reported no usage."
    counts = [
        f"{count:,} {words}" for field, words in DETAILS.items() if (count := getattr(usage, field))
    ]
    if usage.provenance == Usage.Provenance.ESTIMATED:
        reason = ", since the reply ended early" if ending in EARLY else ""
        counts.append(f"estimated from the length of the text{reason}")
        if usage.upper_total_tokens:
            counts.append(f"at most {usage.upper_total_tokens:,} in all")
    if usage.has_reported_cost:
        counts.append("cost as the provider reported it")
    elif usage.has_partial_cost:
        counts.append("cost without the provider's fees for searches and tools")
    return ", ".join(counts)


def round_usage(record: dict[str, Any]) -> str:
    """Describe the usage of one round, given its record in `Message.earlier_rounds`."""
    return f"{usage_details(Usage(**record))} ({record['provenance']})"


STATE_WORDS = {
    RunState.WRITING: "is being called",
    RunState.ASKING: "needs approval",
    RunState.RUNNING: "is running…",
    RunState.DONE: "done",
    RunState.FAILED: "failed",
    RunState.DENIED: "not allowed",
    RunState.CANCELLED: "cancelled",
}


def state_words(run: ToolRun) -> str:
    if run.state is RunState.RUNNING and run.progress:
        return run.progress
    return STATE_WORDS[run.state]


def is_long(prompt: str) -> bool:
    """Whether to fold a prompt so that it does not push the answer off the page."""
    return prompt.count("\n") >= LONG_LINES or len(prompt) > LONG_CHARACTERS


def sibling_position(message: Message, siblings: list[Message]) -> SiblingPosition:
    ids = [sibling.pk for sibling in siblings]
    index = ids.index(message.pk)
    return SiblingPosition(
        index + 1,
        siblings[index - 1] if index else None,
        siblings[index + 1] if index + 1 < len(ids) else None,
    )


def about_file(attachment: Attachment | PresetFile) -> str:
    """Describe a document: PDF · 12 pages · 1.2 MB."""
    content = attachment.content
    assert content
    facts = [content.label, filesizeformat(attachment.size)]
    if content.unit:
        facts.insert(1, _pages_words(attachment, content.unit.lower(), content.page_count))
    if content.left_out:
        facts.append(f"left out: {content.left_out_words}")
    if sentence := content.pages_not_sent(*attachment.page_range):
        facts.append(sentence)
    return " · ".join(facts)


def _pages_words(attachment: Attachment | PresetFile, unit: str, count: int) -> str:
    first, last = attachment.page_range
    if (first, last) == (1, count):
        return f"{count} {unit}s" if count > 1 else f"1 {unit}"
    if last == first:
        return f"{unit} {first} of {count}"
    return f"{unit}s {first}\N{EN DASH}{last} of {count}"


def shown_size(content: FileContent, is_alone: bool) -> tuple[int, int]:
    """Return the width and height of a thumbnail in pixels; images in a row are equally high."""
    width, height = max(1, content.width), max(1, content.height)
    if is_alone:
        scale = min(1, MOST_WIDE / width, MOST_HIGH / height)
        return round(max(LEAST_WIDE, width * scale)), round(max(LEAST_WIDE, height * scale))
    wide = min(max(LEAST_WIDE, ROW_HIGH * width / height), ROW_WIDE)
    return round(wide), ROW_HIGH


def left_out_sentence(extras: Extras) -> str:
    count = extras.left_out_count
    pieces = "1 piece of the stream could not be read and was"
    if count != 1:
        pieces = f"{count} pieces of the stream could not be read and were"
    return f"{pieces} left out: {extras.left_out_words}."


def file_size(size: int) -> str:
    """Format a size in bytes: 1.2 MB."""
    return filesizeformat(size)


def about(count: int) -> str:
    """Round an estimate to two significant digits: 5,200."""
    step = 10 ** max(len(str(count)) - 2, 0)
    return f"{(count + step // 2) // step * step:,}"


def thousands(count: int) -> str:
    return f"{count:,}"


def moment(value: datetime) -> str:
    return f"{value.day} {value:%b %Y %H:%M:%S}"


def local_time(value: datetime) -> SafeString:
    """Return a `time` element, which static/js/page/local-times.js shows in local time."""
    text = f"{value.day} {value:%b %Y %H:%M} UTC"
    return format_html('<time datetime="{}" data-local>{}</time>', value.isoformat(), text)


def day(value: date) -> str:
    return f"{value.day} {value:%b %Y}"


def age(value: datetime) -> str:
    """Return how long ago something was, in the largest unit: 3 hours ago."""
    if timezone.now() - value < timedelta(minutes=1):
        return "just now"
    return f"{timesince(value, depth=1)} ago"


def in_zone(value: datetime) -> str:
    """Format a time in the installation's time zone, in which limits are counted."""
    return Limit.in_words(value)


def when(value: datetime) -> str:
    """Format a coming time in that time zone: tomorrow at 00:00 (UTC)."""
    return calendar.in_words(value, timezone.now())


def initials(user: User) -> str:
    """Return one or two letters for a person: olive.tree is OT."""
    words = re.findall(r"[^\W_]+", user.display_name)
    return "".join(word[0] for word in words[:2]).upper() or "?"


def parameter_name(name: str) -> str:
    """Return a parameter of requests as people read it; an unknown one has its own name."""
    return PARAMETERS[name].label if name in PARAMETERS else name


def as_json(value: object) -> str:
    """Return JSON as people read it; escape it like other text."""
    return json.dumps(value, ensure_ascii=False, indent=2)
