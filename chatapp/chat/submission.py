"""From a prompt to streaming replies: chooses the model, stores the turn, shows it in the tabs."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from channels.db import database_sync_to_async

from chatapp.catalogue import filter_permitted_offers
from chatapp.chat.thread_loader import draw_thread
from chatapp.concurrency.event_loop import TimeSlice
from chatapp.models import (
    Continuation,
    ModelChoice,
    Prompt,
    Refused,
    Retry,
    ThreadPage,
    Turn,
    User,
    load_model_access,
)
from chatapp.models.platform.upstreams import NONE_GIVEN, NOT_OFFERED
from chatapp.realtime.generation import run_in_write_thread
from chatapp.realtime.viewers import Viewer
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments, pool
from chatapp.sessions import idle_sessions

T = TypeVar("T")

PROMPT_PATIENCE_SECONDS = 1.0  # how long formatting a prompt may delay its reply
WAITS = "The database is not responding. What you sent will be saved as soon as it does."


async def offered_models(chosen: Sequence[ModelChoice], person: int) -> Sequence[ModelChoice]:
    """Return the chosen models, or the person's default if none was chosen.

    Raises `Refused` if a chosen model is not offered, or if there is no model for this person.
    """
    for model in chosen:
        if not await worker().catalogue.is_offered(model.upstream, model.name):
            raise Refused(NOT_OFFERED)
    return chosen or [await _default_model(person)]


async def _default_model(person: int) -> ModelChoice:
    permissions = await database_sync_to_async(load_model_access)(person)
    for wait_for_all in (False, True):
        connected = await worker().catalogue.offers(wait_for_all)
        offers = filter_permitted_offers(connected, permissions)
        for offer in offers:
            if offer.models:
                return ModelChoice(offer.upstream.pk, offer.models[0].id)
    if connected and not offers:
        raise Refused(NONE_GIVEN)
    raise Refused("No model is available. An administrator can connect one.")


async def store(viewer: Viewer, submission: Prompt | Continuation | Retry) -> Turn:
    """Store the turn with its prompt and its empty replies; raises `Refused`."""
    return await write_for_viewer(viewer, partial(_store_now, submission))


def _store_now(submission: Prompt | Continuation | Retry, user: User) -> Turn:
    """Store a turn, unless draining has begun while it waited for the database."""
    return submission.store(user, None if worker().draining.has_begun else worker().id)


async def write_for_viewer(viewer: Viewer, write: Callable[[User], T]) -> T:
    """Run `write` for the viewer's user and return its result.

    If it takes long, the page says so until it is done.
    """
    is_delayed = False

    async def show_delay() -> None:
        nonlocal is_delayed
        await viewer.show(fragments.problem_fragment(WAITS))
        is_delayed = True

    result = await run_in_write_thread(partial(_write_as, viewer.session_key, write), show_delay)
    if is_delayed:
        await viewer.show(fragments.problem_fragment(""))
    return result


def _write_as(session_key: str, write: Callable[[User], T]) -> T:
    return write(idle_sessions.use_session(session_key))


async def start(turn: Turn, viewer: Viewer) -> None:
    """Show a turn in every tab of its conversation, and start its replies for `viewer`.

    A tab that already shows what the turn follows gets only the turn. The other tabs get the whole
    thread, drawn once for all of them. A tab that shows an earlier part of the conversation stays
    there, except the one that sent the prompt.
    """
    if turn.prompt.file_count:
        for draft in (turn.conversation.pk, None):  # a first prompt sends those of a new chat
            worker().draft_changed(turn.conversation.user_id, draft)
    showing = worker().viewers.showing(turn.conversation.pk)
    html_of = await pool.arender_texts(
        fragments.collect_texts([turn.prompt]), PROMPT_PATIENCE_SECONDS
    )
    is_behind = not all(_is_at(turn, tab) or _stays(tab, viewer) for tab in showing)
    thread = await draw_thread(await _load_thread_page(turn)) if is_behind else None
    async with worker().one_prompt_at_a_time:
        around = fragments.composer_fragment(turn.conversation, turn.reply)
        if turn.reservation:
            around += fragments.limit_note_fragment(turn.reservation.warning)
        if turn.policy:  # it may have changed since the page was drawn
            around += fragments.policy_fragment(turn.policy, turn.conversation)
        around += fragments.sidebar_fragment(turn.conversation, running=True, first=True)
        following = fragments.turn_fragment(turn.prompt, turn.replies, html_of)
        missed = await _show(turn, showing, viewer, around, following, thread)
        if missed:  # these tabs were shown other messages meanwhile
            thread = await draw_thread(await _load_thread_page(turn))
            await _show(turn, missed, viewer, around, following, thread)
        worker().start(turn, viewer)


async def _show(
    turn: Turn,
    tabs: Collection[Viewer],
    sender: Viewer,
    around: str,
    following: str,
    thread: fragments.ThreadParts | None,
) -> list[Viewer]:
    """Send each tab what it lacks, judged by its state at the moment of sending.

    Returns the tabs that need the whole thread, if no `thread` is given.
    """
    whole = fragments.thread_fragment(thread) if thread else ""
    share = TimeSlice()
    missed = []
    for tab in list(tabs):
        if _stays(tab, sender):
            await tab.show(around)
        elif messages := following if _is_at(turn, tab) else whole:
            tab.head, tab.shows_end = turn.head, True
            await tab.show(messages + around)
        else:
            missed.append(tab)
        await share.yield_if_used_up()
    return missed


def _is_at(turn: Turn, tab: Viewer) -> bool:
    """Whether the tab shows exactly the messages that the turn follows."""
    return tab.shows_end and tab.head == turn.prompt.parent_id


def _stays(tab: Viewer, sender: Viewer) -> bool:
    """Whether the tab stays at the earlier part of the conversation that it shows."""
    return not tab.shows_end and tab is not sender


async def _load_thread_page(turn: Turn) -> ThreadPage:
    """Return the turn's branch as pages show it; the turn itself has only what goes upstream."""
    page: ThreadPage = await database_sync_to_async(turn.conversation.view)(turn.reply.pk)
    return page
