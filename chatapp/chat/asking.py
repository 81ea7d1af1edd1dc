"""From what a person asks to a reply that streams: its model, its turn, the tabs that show it."""

from channels.db import database_sync_to_async

from chatapp import frames, rendering
from chatapp.access import idle_sessions
from chatapp.chat.screen import drawn
from chatapp.generation import stored
from chatapp.models import Continuation, Message, ModelChoice, Prompt, Refused, Retry, Turn
from chatapp.models.upstreams import NOT_OFFERED
from chatapp.viewers import Viewer, show_to
from chatapp.worker import worker

PROMPT_PATIENCE_SECONDS = 1.0  # that a prompt's formatting may hold up its reply
WAITS = "The database does not answer. What you sent waits, and is stored once it does."


async def offered_model(chosen: ModelChoice | None) -> ModelChoice:
    """The one that the person chose; the first there is where none was. Raises `Refused`."""
    if chosen is None:
        return await _default_model()
    if not await worker().catalogue.is_offered(chosen.upstream, chosen.name):
        raise Refused(NOT_OFFERED)
    return chosen


async def _default_model() -> ModelChoice:
    for wait_for_all in (False, True):
        for offer in await worker().catalogue.offers(wait_for_all):
            if offer.models:
                return ModelChoice(offer.upstream.pk, offer.models[0].id)
    raise Refused("No model is available. An administrator can connect one.")


async def store(viewer: Viewer, asked: Prompt | Continuation | Retry) -> Turn:
    """Stores what is asked for; where that takes long, the person is told. Raises `Refused`."""
    is_told = False

    async def tell() -> None:
        nonlocal is_told
        await viewer.show(frames.problem_frame(WAITS))
        is_told = True

    def write() -> Turn:
        here = None if worker().draining.has_begun else worker().id
        return asked.store(idle_sessions.used_by(viewer.session_key), here)

    turn = await stored(write, tell)
    if is_told:
        await viewer.show(frames.problem_frame(""))
    return turn


async def start(turn: Turn, viewer: Viewer, at_branch: set[Viewer]) -> None:
    """Shows a turn in every tab of its conversation, and lets it stream for `viewer`.

    Those `at_branch` show all that it follows. What the others show is drawn once for all.
    """
    showing = worker().viewers.showing(turn.conversation.pk)
    html_of = await rendering.arendered(frames.texts_of([turn.prompt]), PROMPT_PATIENCE_SECONDS)
    thread = await drawn(await _shown(turn)) if showing - at_branch else None
    async with worker().one_prompt_at_a_time:
        around = frames.composer_frame(turn.conversation, turn.reply)
        around += frames.sidebar_frame(turn.conversation, running=True, first=True)
        following = frames.turn_frame(turn.prompt, turn.reply, html_of)
        whole = frames.thread_frame(thread) if thread else ""
        others = showing - at_branch if thread else set()
        for one in showing:
            one.head = turn.reply.pk
        await show_to(showing & at_branch, following + around)
        await show_to(others, whole + around)
        worker().start(turn, viewer)


async def _shown(turn: Turn) -> list[Message]:
    """The turn's branch as it is shown, of which the turn has only what is sent."""
    shown: list[Message] = await database_sync_to_async(turn.conversation.thread)(turn.reply.pk)
    return shown
