"""Prompts and replies as HTML, and the frames that show whole ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from chatapp.endings import flagged_categories, notice_of
from chatapp.frames.swaps import replace, swap
from chatapp.markdown import render
from chatapp.models import Message
from chatapp.models.rounds import Round, ToolRun

REGIONS = ("reasoning", "answer", "refusal")


@dataclass(frozen=True)
class Region:
    """One region of text: its name, its element's id and its HTML."""

    name: str
    element_id: str
    html: SafeString
    round: int = 0


@dataclass(frozen=True)
class CallRegion:
    """A tool call: what the model wrote, and what came of it."""

    round: int
    index: int
    run: ToolRun
    element_id: str
    name: str = "tool-call"


@dataclass(frozen=True)
class ReplyView:
    """What `chat/_reply.html` draws: a reply that has ended, or as far as it has come."""

    message: Message
    regions: list[Region | CallRegion]
    silent_for: float = 0.0  # seconds, of a reply that streams; the page counts on

    @classmethod
    def of(cls, message: Message) -> "ReplyView":
        return cls(
            message,
            [
                region
                for number, round in enumerate(message.rounds)
                for region in _regions_of(message, number, round)
            ],
        )

    @property
    def key(self) -> str:
        return key_of(self.message)

    def context(self) -> dict[str, object]:
        message = self.message
        return {
            "reply": self,
            "message": message,
            "notice": notice_of(message),
            "extras": message.extras,
            "usage": None if message.is_streaming else getattr(message, "usage", None),
            "flagged": flagged_categories(message.moderation),
            "continue_id": uuid4(),
        }


def key_of(message: Message) -> str:
    return key_of_reply(message.pk)


def key_of_reply(reply: UUID) -> str:
    """Names a reply's elements on its page: short, since every frame carries it."""
    return reply.hex[:8]


def region_id(message: Message, round: int, name: str) -> str:
    return f"{name[:2]}{key_of(message)}{round or ''}"


def call_id(message: Message, round: int, index: int) -> str:
    return f"c{key_of(message)}-{round}-{index}"


def _regions_of(message: Message, number: int, round: Round) -> list[Region | CallRegion]:
    texts = zip(REGIONS, (round.reasoning, round.content, round.refusal), strict=True)
    regions: list[Region | CallRegion] = [
        Region(name, region_id(message, number, name), render(text), number)
        for name, text in texts
        if text
    ]
    calls = [
        CallRegion(number, index, run, call_id(message, number, index))
        for index, run in enumerate(round.tool_runs)
    ]
    return regions + calls


def reply_html(view: ReplyView) -> SafeString:
    return render_to_string("chat/_reply.html", view.context())


def prompt_html(message: Message) -> SafeString:
    return render_to_string(
        "chat/_prompt.html", {"message": message, "html": render(message.content)}
    )


def thread_html(messages: Iterable[Message], live: ReplyView | None = None) -> SafeString:
    """A whole conversation; `live` is the reply in it that streams in this process."""
    parts = []
    for message in messages:
        if message.is_prompt:
            parts.append(prompt_html(message))
        elif live and live.message.pk == message.pk:
            parts.append(reply_html(live))
        else:
            parts.append(reply_html(ReplyView.of(message)))
    return mark_safe("".join(parts))  # noqa: S308 - each part is a rendered template


def review_html(messages: Iterable[Message]) -> SafeString:
    """Every message with its usage, upstream and ids, for an administrator to read."""
    views = [
        (
            message,
            ReplyView.of(message),
            notice_of(message),
            message.extras,
            flagged_categories(message.moderation),
        )
        for message in messages
    ]
    return render_to_string("admin/_review.html", {"views": views})


def turn_frame(prompt: Message, reply: Message) -> str:
    """Shows a new prompt, in place of the one the page drew by itself, and its empty reply."""
    turn = prompt_html(prompt) + reply_html(ReplyView.of(reply))
    drawn = swap("delete", f"#m-{prompt.pk}") + swap("delete", f"#reply-{reply.pk}")
    return drawn + swap("append", "#messages", turn)


def thread_frame(messages: Iterable[Message], live: ReplyView | None = None) -> str:
    return swap("innerHTML", "#messages", thread_html(messages, live))


def snapshot_frame(view: ReplyView) -> str:
    """Replaces a reply as a whole, whatever of it the page has."""
    return replace(f"#reply-{view.message.pk}", reply_html(view))


def waiting_frame(reply: UUID, text: str) -> str:
    """Says what a reply waits for whose text has not begun."""
    waiting = render_to_string("chat/_waiting.html", {"text": text})
    return swap("innerHTML", f"#f{key_of_reply(reply)}", waiting)


def delay_frame(reply: UUID, text: str) -> str:
    """Says below what has come of a reply why nothing more comes just now."""
    delay = render_to_string("chat/_delay.html", {"text": text})
    return swap("innerHTML", f"#f{key_of_reply(reply)}", delay)
