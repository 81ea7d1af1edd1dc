"""The sentences that tell a person how a reply ended: what happened, what was kept, what to do."""

from dataclasses import dataclass
from typing import Any

from chatapp.models import Message
from chatapp.parameters.table import get_phrase
from chatapp.rendering.fragments.words import model_name
from chatapp.upstream.wire.events import ErrorKind, UpstreamError
from chatapp.upstream.wire.reply import Ending


@dataclass(frozen=True)
class Notice:
    """One or two sentences below a reply; `detail` quotes the upstream."""

    text: str
    detail: str = ""
    is_error: bool = False
    needs_images: bool = False  # from another model
    without: tuple[str, ...] = ()  # the names of parameters that the model refused
    is_too_long: bool = False  # for the model's context
    tells_of_closing: bool = False  # and where one may choose what it does

    @property
    def without_words(self) -> str:
        return _join_names(self.without)


def flagged_categories(moderation: dict[str, Any] | None) -> list[str]:
    """Return the categories that the upstream's moderation flagged in a prompt or its reply."""
    sides = [side for side in (moderation or {}).values() if side]
    results = [result for side in sides for result in side.get("results", ())]
    return list(dict.fromkeys(name for result in results for name in result["categories"]))


CALM = {
    Ending.LENGTH: "The reply reached its length limit. Continue asks for the rest.",
    Ending.CONTENT_FILTER: "The model's content filter ended the reply.",
    Ending.REFUSED: "The model declined to answer.",
    Ending.STOPPED: "Stopped.",
    Ending.ABANDONED: "Stopped when you closed the tab.",
    Ending.INTERRUPTED: "This reply was interrupted, for example by a restart of the server.",
    Ending.OVER_BUDGET: "A limit was reached, so the reply was stopped. The text so far has been "
    "saved. “Your limits” in your preferences shows which limit, and when it resets.",
}
FAILED = {
    ErrorKind.UNREACHABLE: "The model's server can't be reached. Try again, or tell an "
    "administrator.",
    ErrorKind.UNAUTHORIZED: "The model's server refused the key. Ask an administrator to update "
    "it.",
    ErrorKind.RATE_LIMITED: "The model is rate-limited. Try again later.",
    ErrorKind.NOT_FOUND: "The model's server does not know this model. Choose another, or tell an "
    "administrator.",
    ErrorKind.BAD_REQUEST: "The model's server did not accept the request. Choose another model, "
    "or tell an administrator.",
    ErrorKind.SERVER_ERROR: "The model's server failed. Try again.",
    ErrorKind.STREAM_ERROR: "The model's server reported an error during the reply. Try again.",
    ErrorKind.NOT_A_STREAM: "The model's server sent something that is not a reply. Ask an "
    "administrator to check its address.",
    ErrorKind.REDIRECTED: "The address of the model's server redirects. Ask an administrator to "
    "correct it.",
    ErrorKind.EMPTY: "The model's server sent an empty reply. The conversation may be too long "
    "for the model.",
    ErrorKind.TOO_LARGE: "The model's server sent too much data at once, so the reply was stopped.",
    ErrorKind.UNREAD_CALL: "The model tried to call a tool in a form that its server did not read, "
    "so the tool did not run. Retry, or choose another model.",
    ErrorKind.MALFORMED: "Part of the reply could not be read, so it is incomplete. Try again.",
    ErrorKind.OUT_OF_RANGE: "The reply went beyond what this app accepts, so it was stopped.",
    ErrorKind.FINISH_REASON: "The model's server did not complete the reply. Try again.",
    ErrorKind.TOO_MANY_ROUNDS: "The model kept calling tools without answering, so the reply was "
    "stopped. Continue lets it go on with what it has found.",
    ErrorKind.NO_IMAGES: "This model takes no images. Your message and its files are kept. "
    "Answer with a model that takes images.",
    ErrorKind.NO_PARAMETER: "This model doesn't accept a parameter of this chat. Your message is "
    "kept. Retry without it, or change the chat's parameters.",
    ErrorKind.TOO_LONG: "This chat is too long for the model. Your message is kept. Leave out or "
    "summarise the oldest part and retry, or choose a model with a larger context.",
    ErrorKind.FILE_LOST: "A file of this chat is no longer stored, so nothing was sent to the "
    "model. Your message is kept. Edit it without the file, or tell an administrator.",
    ErrorKind.FILE_UNREADABLE: "The files of this chat can't be read right now, so nothing was "
    "sent to the model. Your message is kept. Retry later, or tell an administrator.",
}

_NOTHING_SENT = "Your message is kept. Retry without it, or change the chat's parameters."


def build_notice(message: Message) -> Notice | None:
    """Return the notice for a reply that has ended; None if there is nothing to say."""
    if message.ending in ("", Message.STREAMING, Ending.COMPLETE):
        return None
    if message.ending not in list(Ending):  # written by a newer version during an upgrade
        return Notice("The reply ended.")
    ending = Ending(message.ending)
    if ending is Ending.NO_ANSWER or (ending is Ending.LENGTH and not message.content):
        return Notice(_explain_no_answer(message), is_error=True)
    if ending is Ending.ABANDONED:
        return Notice(CALM[ending], tells_of_closing=True)
    if ending in CALM:
        return Notice(CALM[ending])
    saved_note = " The text so far has been saved." if has_content(message) else ""
    if ending is Ending.CUT_OFF:
        return Notice(
            "The connection to the model ended before the reply was complete." + saved_note,
            is_error=True,
        )
    if ending is Ending.TIMED_OUT:
        return Notice(
            "The model's server stopped responding, so the reply was ended." + saved_note,
            is_error=True,
        )
    return _build_failure(message, message.upstream_error, saved_note)


def _explain_no_answer(message: Message) -> str:
    if message.ending == Ending.LENGTH:
        return "The reply reached its length limit before its answer began. Retry asks again."
    if message.reasoning:
        return "The model thought, but gave no answer. Retry asks again."
    if message.earlier_rounds:
        return "The model called tools, but gave no answer. Retry asks again."
    return "The model ended the reply without an answer. Retry asks again."


def has_content(message: Message) -> bool:
    """Whether the model has written anything."""
    content = message.content or message.reasoning or message.refusal or message.earlier_rounds
    return bool(content or message.extras.has_visible_parts)


def retry_text(error: UpstreamError) -> str:
    """Return the start of a sentence about the next try, which a countdown completes."""
    return f"{FAILED[error.kind].partition('.')[0]}. Trying again"


def _build_failure(message: Message, error: UpstreamError | None, saved_note: str) -> Notice:
    if error is None:
        return Notice(
            "Something went wrong on this server; see its log." + saved_note, is_error=True
        )
    text = FAILED[error.kind]
    if error.retry_after is not None:
        text = f"The model is rate-limited. Try again in {_duration(error.retry_after)}."
    if error.kind is ErrorKind.FINISH_REASON:
        text = (
            f"The model's server ended the reply with “{error.code}”, so it may be incomplete. "
            "Try again."
        )
    without = tuple(error.param.split()) if error.kind is ErrorKind.NO_PARAMETER else ()
    if without:
        refused = _format_refused(without, error.code)
        text = f"{model_name(message)} doesn't accept {refused}. {_NOTHING_SENT}"
    status = f"{error.status} " if error.status else ""
    return Notice(
        text + saved_note,
        f"{status}{error.message}".strip(),
        is_error=True,
        needs_images=error.kind is ErrorKind.NO_IMAGES,
        is_too_long=error.kind is ErrorKind.TOO_LONG,
        without=without,
    )


def _format_refused(names: tuple[str, ...], value: str) -> str:
    is_said = value and value != "true" and len(names) == 1
    return f"{value} as {_join_names(names)}" if is_said else _join_names(names)


def _join_names(names: tuple[str, ...]) -> str:
    *others, last = map(get_phrase, names)
    return f"{', '.join(others)} and {last}" if others else last


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
