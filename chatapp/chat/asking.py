"""From what a person asks to a reply that streams: its model, its turn, the tabs that show it."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from channels.db import database_sync_to_async

from chatapp import frames, rendering
from chatapp.access import idle_sessions
from chatapp.catalogue import open_to
from chatapp.chat.screen import drawn
from chatapp.fairness.turns import Share
from chatapp.generation import stored
from chatapp.models import (
    Continuation,
    ModelChoice,
    Prompt,
    Refused,
    Retry,
    Turn,
    User,
    View,
    permitted,
)
from chatapp.models.upstreams import NONE_GIVEN, NOT_OFFERED
from chatapp.viewers import Viewer
from chatapp.worker import worker

T = TypeVar("T")

PROMPT_PATIENCE_SECONDS = 1.0  # that a prompt's formatting may hold up its reply
WAITS = "The database does not answer. What you sent waits, and is stored once it does."


async def offered_models(chosen: Sequence[ModelChoice], person: int) -> Sequence[ModelChoice]:
    """Those that the person chose; the first that is theirs to ask where none was. Raises
    `Refused`."""
    for model in chosen:
        if not await worker().catalogue.is_offered(model.upstream, model.name):
            raise Refused(NOT_OFFERED)
    return chosen or [await _default_model(person)]


async def _default_model(person: int) -> ModelChoice:
    theirs = await database_sync_to_async(permitted)(person)
    for wait_for_all in (False, True):
        connected = await worker().catalogue.offers(wait_for_all)
        offers = open_to(connected, theirs)
        for offer in offers:
            if offer.models:
                return ModelChoice(offer.upstream.pk, offer.models[0].id)
    if connected and not offers:
        raise Refused(NONE_GIVEN)
    raise Refused("No model is available. An administrator can connect one.")


async def store(viewer: Viewer, asked: Prompt | Continuation | Retry) -> Turn:
    """Stores what is asked for; raises `Refused`."""

    def write(user: User) -> Turn:
        return asked.store(user, None if worker().draining.has_begun else worker().id)

    return await written(viewer, write)


async def written(viewer: Viewer, write: Callable[[User], T]) -> T:
    """What `write` returns for the viewer's person, who is told where that takes long."""
    is_told = False

    async def tell() -> None:
        nonlocal is_told
        await viewer.show(frames.problem_frame(WAITS))
        is_told = True

    result = await stored(lambda: write(idle_sessions.used_by(viewer.session_key)), tell)
    if is_told:
        await viewer.show(frames.problem_frame(""))
    return result


async def start(turn: Turn, viewer: Viewer) -> None:
    """Shows a turn in every tab of its conversation, and lets its replies stream for `viewer`.

    A tab that shows all that it follows gets the turn alone. What the others show is drawn once for
    all; of those that show an earlier part of the conversation only the one that asked is led to
    its end.
    """
    showing = worker().viewers.showing(turn.conversation.pk)
    html_of = await rendering.arendered(frames.texts_of([turn.prompt]), PROMPT_PATIENCE_SECONDS)
    is_behind = not all(_is_at(turn, tab) or _stays(tab, viewer) for tab in showing)
    thread = await drawn(await _shown(turn)) if is_behind else None
    async with worker().one_prompt_at_a_time:
        around = frames.composer_frame(turn.conversation, turn.reply)
        if turn.purse:
            around += frames.limit_note_frame(turn.purse.near)
        if turn.policy:  # another may have been set since the page was drawn
            around += frames.policy_frame(turn.policy, turn.conversation)
        around += frames.sidebar_frame(turn.conversation, running=True, first=True)
        following = frames.turn_frame(turn.prompt, turn.replies, html_of)
        missed = await _show(turn, showing, viewer, around, following, thread)
        if missed:  # since other messages were shown there meanwhile
            thread = await drawn(await _shown(turn))
            await _show(turn, missed, viewer, around, following, thread)
        worker().start(turn, viewer)


async def _show(
    turn: Turn,
    tabs: Collection[Viewer],
    asks: Viewer,
    around: str,
    following: str,
    thread: frames.ThreadParts | None,
) -> list[Viewer]:
    """Shows each tab what it lacks: where it is, is looked at as it is shown. Returns those that
    lack more than the turn, where no thread is given."""
    whole = frames.thread_frame(thread) if thread else ""
    share = Share()
    missed = []
    for tab in list(tabs):
        if _stays(tab, asks):
            await tab.show(around)
        elif lacking := following if _is_at(turn, tab) else whole:
            tab.head, tab.shows_end = turn.head, True
            await tab.show(lacking + around)
        else:
            missed.append(tab)
        await share.give()
    return missed


def _is_at(turn: Turn, tab: Viewer) -> bool:
    """Whether it shows all that the turn follows, and nothing after."""
    return tab.shows_end and tab.head == turn.prompt.parent_id


def _stays(tab: Viewer, asks: Viewer) -> bool:
    """Whether its reader stays at an earlier part of the conversation."""
    return not tab.shows_end and tab is not asks


async def _shown(turn: Turn) -> View:
    """The turn's branch as it is shown, of which the turn has only what is sent."""
    shown: View = await database_sync_to_async(turn.conversation.view)(turn.reply.pk)
    return shown
