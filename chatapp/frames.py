"""Replies as HTML: the partials that a page holds, and the frames that keep it up to date.

A frame is a string of htmx out-of-band swaps. The page and the socket render the same templates,
so that a reply looks the same live, after a reload and in the admin. Nothing here does I/O.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never
from uuid import UUID, uuid4

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from chatapp.endings import notice_of
from chatapp.markdown import (
    Append,
    Change,
    LiveMarkdown,
    ReplaceAll,
    ReplaceBlock,
    ReplaceLast,
    render,
)
from chatapp.models import Conversation, Message

REGIONS = ("reasoning", "answer", "refusal")


@dataclass(frozen=True)
class Region:
    """One region of a reply: its name, its element's id and its HTML."""

    name: str
    element_id: str
    html: SafeString


@dataclass(frozen=True)
class ReplyView:
    """What `chat/_reply.html` draws: a reply that has ended, or as far as it has come."""

    message: Message
    regions: list[Region]

    @classmethod
    def of(cls, message: Message) -> "ReplyView":
        texts = (message.reasoning, message.content, message.refusal)
        return cls(
            message,
            [
                Region(name, _region_id(message, name), render(text))
                for name, text in zip(REGIONS, texts, strict=True)
                if text
            ],
        )

    @property
    def key(self) -> str:
        return _key(self.message)

    def context(self) -> dict[str, object]:
        message = self.message
        return {
            "reply": self,
            "message": message,
            "notice": notice_of(message),
            "usage": None if message.is_streaming else getattr(message, "usage", None),
            "continue_id": uuid4(),
        }


def _key(message: Message) -> str:
    """Names a reply's elements on its page: short, since every frame carries it."""
    return message.pk.hex[:8]


def _region_id(message: Message, name: str) -> str:
    return name[:2] + _key(message)


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
    views = [(message, ReplyView.of(message), notice_of(message)) for message in messages]
    return render_to_string("admin/_review.html", {"views": views})


def turn_frame(prompt: Message, reply: Message) -> str:
    """Shows a new prompt, in place of the one the page drew by itself, and its empty reply."""
    turn = prompt_html(prompt) + reply_html(ReplyView.of(reply))
    drawn = _swap("delete", f"#m-{prompt.pk}") + _swap("delete", f"#reply-{reply.pk}")
    return drawn + _swap("append", "#messages", turn)


def thread_frame(messages: Iterable[Message], live: ReplyView | None = None) -> str:
    return _swap("innerHTML", "#messages", thread_html(messages, live))


def snapshot_frame(view: ReplyView) -> str:
    """Replaces a reply as a whole, whatever of it the page has."""
    return _replace(f"#reply-{view.message.pk}", reply_html(view))


def composer_frame(conversation: Conversation, head: Message) -> str:
    """Readies the composer for the prompt that follows `head`."""
    return render_to_string(
        "chat/_composer_state.html",
        {"conversation": conversation, "head": head, "prompt_id": uuid4(), "oob": True},
    )


def problem_frame(text: str, prompt_id: UUID | None = None) -> str:
    """Says at the composer why a prompt was not taken; the page gives its text back."""
    return render_to_string(
        "chat/_problem.html", {"text": text, "prompt_id": prompt_id, "oob": True}
    )


def sidebar_frame(conversation: Conversation, *, running: bool, first: bool = False) -> str:
    """Draws one conversation in the sidebar anew, at the top where it is `first`."""
    target = f"#nav-{conversation.pk}"
    link = render_to_string(
        "chat/_conversation_link.html", {"conversation": conversation, "running": running}
    )
    if first:
        return _swap("delete", target) + _swap("prepend", "#conversation-list", link)
    return _replace(target, link)


class LiveReply:
    """A streaming reply as its viewers have it: takes text, gives the frames that are missing.

    The frames from `changes()`, put one after another on what `view()` drew before, make what
    `view()` draws now; so a viewer who missed some takes a snapshot and goes on from there.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self._texts: dict[str, LiveMarkdown] = {}
        self._shown: set[str] = set()
        self._thinking_shown = True

    def append(self, region: str, text: str) -> None:
        if region not in self._texts:
            self._texts[region] = LiveMarkdown()
        self._texts[region].append(text)

    def changes(self) -> str:
        """The frames for what came since the last call; empty where nothing did."""
        return self._frames({name: text.changes() for name, text in self._texts.items()})

    @property
    def is_coloured(self) -> bool:
        return all(text.is_coloured for text in self._texts.values())

    def colour(self) -> str:
        """The frames that colour one finished block of each region, where one waits for it."""
        return self._frames({name: text.colour() for name, text in self._texts.items()})

    def finish(self) -> str:
        """The frames that complete every region; nothing is appended after this."""
        return self._frames({name: text.finish() for name, text in self._texts.items()})

    def ended_frame(self) -> str:
        """Sets the reply's ending, notice, usage and actions, once its message is saved."""
        view = self.view()
        return render_to_string("chat/_ended.html", view.context())

    def view(self) -> ReplyView:
        return ReplyView(
            self.message,
            [self._region(name, text.html()) for name, text in self._texts.items()],
        )

    def _frames(self, changes: dict[str, list[Change]]) -> str:
        frames = []
        for name, steps in changes.items():
            if name not in self._shown and steps:
                self._shown.add(name)
                frames.append(self._opened(name))
            else:
                target = _region_id(self.message, name)
                frames += [_change_frame(target, step) for step in steps]
        if self._thinking_shown and self.message.reasoning_duration is not None:
            self._thinking_shown = False
            frames.append(
                render_to_string("chat/_thought.html", self.view().context() | {"oob": True})
            )
        return "".join(frames)

    def _opened(self, name: str) -> str:
        region = self._region(name, self._texts[name].html())
        html = render_to_string("chat/_region.html", {"region": region, **self.view().context()})
        return _swap("append", f"#b{_key(self.message)}", html)

    def _region(self, name: str, html: SafeString) -> Region:
        return Region(name, _region_id(self.message, name), html)


def _change_frame(target: str, change: Change) -> str:
    match change:
        case Append(depth, html):
            return _swap("append", f"#{target}{'>:last-child' * depth}", html)
        case ReplaceLast(html):
            return _replace(f"#{target}>:last-child", html)
        case ReplaceBlock(index, html):
            return _replace(f"#{target}>:nth-child({index + 1})", html)
        case ReplaceAll(html):
            return _swap("innerHTML", f"#{target}", html)
        case _:
            assert_never(change)


def _swap(style: str, target: str, html: str = "") -> str:
    """An out-of-band swap of `html` at the elements that the CSS selector `target` finds.

    The wrapper is a `div`, since most frames are a few characters long, except where the parser
    would drop what only stands in a table.
    """
    wrapper = "template" if html.startswith("<t") else "div"
    return f'<{wrapper} hx-swap-oob="{style} target:{target}">{html}</{wrapper}>'


def _replace(target: str, html: str) -> str:
    return f'<template hx-swap-oob="outerHTML target:{target} strip:true">{html}</template>'
