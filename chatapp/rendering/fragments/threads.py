"""Threads as HTML: the messages of a page, and the frames that add or replace them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from chatapp.models import ContextCut, Message, ThreadPage
from chatapp.models.conversations.threads.context_cuts import MAX_SUMMARY
from chatapp.rendering.fragments.endings import build_notice, flagged_categories
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.replies import ReplyView, prompt_html, reply_html, typed_html
from chatapp.rendering.fragments.swaps import swap
from chatapp.rendering.pool import GetHtml


@dataclass(frozen=True)
class ThreadParts:
    """The drawn messages of a conversation, with ids in place of replies that stream here."""

    thread: tuple[str | UUID, ...]
    beside: tuple[tuple[Message, str | UUID], ...]  # replies side by side below the thread
    follows: tuple[str, ...] | None  # selectors of its messages, if they follow those on the page

    @classmethod
    def of(cls, view: ThreadPage, get_html: GetHtml, live: Collection[UUID]) -> "ThreadParts":
        """Draw a view. Takes a while if it is long; does not touch the database."""

        def draw_message(message: Message) -> str | UUID:
            if message.pk in live:
                return message.pk
            if message.is_prompt:
                return prompt_html(message, get_html)
            return reply_html(ReplyView.of(message, get_html))

        thread = list(_with_cut(view, [draw_message(message) for message in view.thread]))
        if view.has_earlier:
            thread.insert(0, draw("chat/_earlier.html", {"view": view}))
        if view.has_later:
            thread.append(draw("chat/_later.html", {"view": view}))
        beside = tuple((message, draw_message(message)) for message in view.beside)
        targets = (*_targets(view.thread), *_cut_targets(view)) if view.follows else None
        return cls(tuple(thread), beside, targets)

    def html(self, live: Iterable[ReplyView]) -> SafeString:
        views = {view.message.pk: view for view in live}

        def draw_part(part: str | UUID) -> str:
            return part if isinstance(part, str) else reply_html(views[part])

        html = "".join(map(draw_part, self.thread))
        if self.beside:
            html += _beside_html([(message, draw_part(part)) for message, part in self.beside])
        return mark_safe(html)  # noqa: S308 - rendered templates


def _with_cut(view: ThreadPage, parts: Iterable[str | UUID]) -> Iterator[str | UUID]:
    """Yield drawn messages, the place from which on they are sent to the model, and kept
    summaries."""
    cut, thread = view.cut, view.thread
    lifted = {lifted_cut.message_id: lifted_cut for lifted_cut in view.lifted}
    if cut and cut.message_id is None and not (view.has_earlier or view.follows):
        yield _cut_html(cut)
    for message, html in zip(thread, parts, strict=True):
        yield html
        if cut and message.pk == cut.message_id:
            yield _cut_html(cut)
        elif message.pk in lifted and not (cut and cut.is_after(message)):
            yield _cut_html(lifted[message.pk])
    if cut and thread and thread[-1].pk != cut.message_id and cut.is_after(thread[-1]):
        yield draw("chat/_context_below.html", {})


def _cut_html(cut: ContextCut) -> SafeString:
    state = {"cut": cut, "is_first": cut.message_id is None, "most": MAX_SUMMARY}
    return draw("chat/_context_cut.html", state)


def _beside_html(columns: Sequence[tuple[Message, str]]) -> SafeString:
    """Return replies to one prompt in columns side by side."""
    return draw("chat/_side_by_side.html", {"columns": columns, "prompt": columns[0][0].parent_id})


def _targets(messages: Iterable[Message]) -> Iterator[str]:
    """Yield selectors of these messages' elements, and of the columns below the prompts."""
    for message in messages:
        if message.is_prompt:
            yield f"#m-{message.pk}"
            yield f"#beside-{message.pk}"
        else:
            yield f"#reply-{message.pk}"


def _cut_targets(view: ThreadPage) -> Iterator[str]:
    """Yield the selectors of the cuts that are drawn again with their messages."""
    message_ids = {message.pk for message in view.thread}
    for cut in (*filter(None, [view.cut]), *view.lifted):
        if cut.message_id in message_ids:
            yield f"#cut-{cut.pk}"


def thread_html(
    view: ThreadPage, get_html: GetHtml, live: Collection[ReplyView] = ()
) -> SafeString:
    """Return the HTML of a view; `live` are the replies streaming in this process."""
    return ThreadParts.of(view, get_html, {reply_view.message.pk for reply_view in live}).html(live)


def review_html(
    messages: Sequence[Message],
    get_html: GetHtml,
    rules: Mapping[UUID, Sequence[str]],
    cuts: Mapping[UUID | None, ContextCut],
) -> SafeString:
    """Return the messages for a reviewer, with their branch, usage, upstream and ids.

    `rules` are the names of the rules that flagged a message, by its id; `cuts` say what the person
    left out of later requests, by the last message of it.
    """
    views = [
        (
            message,
            typed_html(message, get_html) if message.is_prompt else "",
            [] if message.is_prompt else ReplyView.of(message, get_html).regions,
            None if message.is_prompt else getattr(message, "usage", None),
            build_notice(message),
            message.extras,
            flagged_categories(message.moderation),
            rules.get(message.pk, ()),
            branch,
            cuts.get(message.pk),
        )
        for message, branch in zip(messages, _find_branches(messages), strict=True)
    ]
    first_with: dict[UUID | None, UUID] = {}
    for message in messages:
        first_with.setdefault(message.request_settings_id, message.pk)
    state = {
        "views": views,
        "is_owner": False,
        "first_cut": cuts.get(None),
        "first_with": first_with,
    }
    return draw("review/thread.html", state)


class _Branch(NamedTuple):
    number: int  # among the messages with the same parent, from 1
    total: int  # of those
    goes_back: bool  # whether its parent is not the message above it


def _find_branches(messages: Sequence[Message]) -> Iterator[_Branch]:
    """Yield each message's branch, in their order."""
    counts = Counter(message.parent_id for message in messages)
    numbers: Counter[UUID | None] = Counter()
    above = None
    for message in messages:
        parent = message.parent_id
        numbers[parent] += 1
        yield _Branch(numbers[parent], counts[parent], parent is not None and parent != above)
        above = message.pk


def turn_fragment(prompt: Message, replies: Sequence[Message], get_html: GetHtml) -> str:
    """Show a prompt and its empty replies, in place of the prompt the page drew by itself."""
    columns = [(reply, reply_html(ReplyView(reply, []))) for reply in replies]
    answers = columns[0][1] if len(columns) == 1 else _beside_html(columns)
    return _append_messages(_targets([prompt, *replies]), prompt_html(prompt, get_html) + answers)


def thread_fragment(thread: ThreadParts, live: Iterable[ReplyView] = ()) -> str:
    """Replace the page's messages with the thread, or append it if it follows them."""
    html = thread.html(live)
    if thread.follows is None:
        return swap("innerHTML", "#messages", html)
    return _append_messages(thread.follows, html)


def _append_messages(targets: Iterable[str], html: str) -> str:
    """Append messages, after deleting any that the page already has."""
    return "".join([swap("delete", target) for target in targets]) + swap(
        "append", "#messages", html
    )
