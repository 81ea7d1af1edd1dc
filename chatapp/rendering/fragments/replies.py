"""Prompts and replies as HTML, and the frames that replace whole ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from uuid import UUID, uuid4

from django.utils.safestring import SafeString

from chatapp.models import Message
from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from chatapp.rendering.fragments.endings import build_notice, flagged_categories
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.swaps import replace, swap
from chatapp.rendering.fragments.tool_arguments import Argument, argument_rows
from chatapp.rendering.fragments.tool_names import ReadableName, readable_name
from chatapp.rendering.pool import GetHtml, Typed

MAX_SHOWN_LENGTH = 20_000  # characters of a tool call's arguments, and of its result
REGIONS = ("reasoning", "answer", "refusal")


@dataclass(frozen=True)
class Region:
    """A region of text: its name, its element's id and its HTML."""

    name: str
    element_id: str
    html: SafeString
    round: int = 0


@dataclass(frozen=True)
class CallRegion:
    """A tool call with its state and result."""

    round: int
    index: int
    run: ToolRun
    element_id: str
    reply: UUID
    name: str = "tool-call"
    unshown: int = 0  # characters of the arguments that arrived but were not kept for the page
    has_images: bool = True  # unless they were deleted

    @property
    def tool(self) -> ReadableName:
        return readable_name(self.run.name, self.run.title)

    @property
    def arguments(self) -> "Excerpt":
        return Excerpt.of(self.run.arguments, self.unshown)

    @property
    def argument_rows(self) -> Sequence[Argument]:
        """The rows of a table, once the call is complete; none if text shows it better."""
        if self.run.state is RunState.WRITING or self.unshown:
            return ()
        return argument_rows(self.run.arguments, MAX_SHOWN_LENGTH)

    @property
    def result(self) -> "Excerpt":
        return Excerpt.of(self.run.result)

    @property
    def images(self) -> Sequence[int]:
        """The positions of the images in the result."""
        return [image.position for image in self.run.images] if self.has_images else []


@dataclass(frozen=True)
class Excerpt:
    """The beginning of a plain text, as long as a page shows it, and how much is left out."""

    text: str
    left_out: int = 0  # characters

    @classmethod
    def of(cls, text: str, more: int = 0) -> "Excerpt":
        return cls(text[:MAX_SHOWN_LENGTH], max(0, len(text) - MAX_SHOWN_LENGTH) + more)


@dataclass(frozen=True)
class Waiting:
    """The wait of a reply: its text, and the seconds of silence, from which the page counts on.

    Negative seconds count down to the next try.
    """

    text: str
    silent_for: float = 0.0
    next_try: int = 0  # its number; 0 during the first try

    @classmethod
    def for_model(cls, silent_for: float = 0.0) -> "Waiting":
        return cls("Waiting for the model…", silent_for)  # its name is above the reply

    @property
    def countdown(self) -> str:
        return "now" if self.silent_for >= 0 else f"in {ceil(-self.silent_for)} s"


@dataclass(frozen=True)
class ReplyView:
    """The data that `chat/_reply.html` draws: a complete reply, or a streaming one so far."""

    message: Message
    regions: list[Region | CallRegion]
    live_waiting: Waiting | None = None  # of a reply that streams in this process
    live_ending: str | None = None  # taken with the regions: the reply may end before it is drawn

    @classmethod
    def of(cls, message: Message, get_html: GetHtml) -> "ReplyView":
        return cls(
            message,
            [
                region
                for number, round in enumerate(message.rounds)
                for region in _build_regions(message, number, round, get_html)
            ],
        )

    @property
    def key(self) -> str:
        return get_element_key(self.message)

    @property
    def ending(self) -> str:
        return self.message.ending if self.live_ending is None else self.live_ending

    @property
    def waiting(self) -> Waiting:
        return self.live_waiting or Waiting.for_model()

    def context(self) -> dict[str, object]:
        message = self.message
        return {
            "reply": self,
            "message": message,
            "notice": build_notice(message),
            "extras": message.extras,
            "usage": None if message.is_streaming else getattr(message, "usage", None),
            "flagged": flagged_categories(message.moderation),
            "siblings": getattr(message, "siblings", [message]),
            "continue_id": uuid4(),
        }


def get_element_key(message: Message) -> str:
    return format_element_key(message.pk)


def format_element_key(reply: UUID) -> str:
    """Return the part of element ids that names the reply. Short, since every frame carries it."""
    return reply.hex[:8]


def region_id(message: Message, round: int, name: str) -> str:
    return f"{name[:3]}{get_element_key(message)}{round or ''}"


def call_id(message: Message, round: int, index: int) -> str:
    return f"c{get_element_key(message)}-{round}-{index}"


def collect_texts(messages: Iterable[Message]) -> list[str | Typed]:
    """Return all texts that must be rendered before these messages can be drawn."""
    texts: list[str | Typed] = []
    for message in messages:
        if message.is_prompt:
            texts.append(Typed(message.content))
        else:
            texts += [text for round in message.rounds for _, text in _collect_round_texts(round)]
    return texts


def _collect_round_texts(round: Round) -> list[tuple[str, str]]:
    texts = zip(REGIONS, (round.reasoning, round.content, round.refusal), strict=True)
    return [(name, text) for name, text in texts if text]


def _build_regions(
    message: Message, number: int, round: Round, get_html: GetHtml
) -> list[Region | CallRegion]:
    regions: list[Region | CallRegion] = [
        Region(name, region_id(message, number, name), get_html(text), number)
        for name, text in _collect_round_texts(round)
    ]
    calls = [
        CallRegion(
            number,
            index,
            run,
            call_id(message, number, index),
            message.pk,
            has_images=not message.extras.expired_images,
        )
        for index, run in enumerate(round.tool_runs)
    ]
    return regions + calls


def reply_html(view: ReplyView) -> SafeString:
    return draw("chat/_reply.html", view.context())


def prompt_html(message: Message, get_html: GetHtml) -> SafeString:
    siblings = getattr(message, "siblings", [message])
    html = typed_html(message, get_html)
    context = {"message": message, "html": html, "siblings": siblings, "is_owner": True}
    return draw("chat/_prompt.html", context)


def typed_html(prompt: Message, get_html: GetHtml) -> SafeString:
    return get_html(Typed(prompt.content))


def snapshot_fragment(view: ReplyView) -> str:
    """Replace a whole reply, whatever the page has of it."""
    return replace(f"#reply-{view.message.pk}", reply_html(view))


def waiting_fragment(reply: UUID, waiting: Waiting) -> str:
    """Say what a reply without any text yet waits for."""
    html = draw("chat/_waiting.html", {"waiting": waiting})
    return swap("innerHTML", f"#f{format_element_key(reply)}", html)


def by_fragment(message: Message) -> str:
    """Name the model above a reply, and on its tab if replies are side by side."""
    return swap("innerHTML", f".by-{message.pk}", draw("chat/_by.html", {"message": message}))


def delay_fragment(reply: UUID, text: str) -> str:
    """Say below the text so far why nothing more arrives at the moment."""
    delay = draw("chat/_delay.html", {"text": text})
    return swap("innerHTML", f"#f{format_element_key(reply)}", delay)
