"""What a person is told about how a reply ended: what happened, and what to do."""

from dataclasses import dataclass
from typing import Any

from chatapp.models import Message
from chatapp.upstream.wire.events import ErrorKind, UpstreamError
from chatapp.upstream.wire.reply import Ending


@dataclass(frozen=True)
class Notice:
    """One or two sentences under a reply; `detail` is the upstream's own words."""

    text: str
    detail: str = ""
    is_error: bool = False


def flagged_categories(moderation: dict[str, Any] | None) -> list[str]:
    """The categories that an upstream's moderation flagged, in a prompt or in its reply."""
    sides = [side for side in (moderation or {}).values() if side]
    results = [result for side in sides for result in side.get("results", ())]
    return list(dict.fromkeys(name for result in results for name in result["categories"]))


CALM = {
    Ending.LENGTH: "The reply reached its length limit. Continue asks for the rest.",
    Ending.CONTENT_FILTER: "The model's content filter ended the reply.",
    Ending.REFUSED: "The model declined to answer.",
    Ending.STOPPED: "Stopped.",
    Ending.ABANDONED: "Stopped, because its last tab was closed.",
    Ending.INTERRUPTED: "The server was restarted while this reply was being written.",
    Ending.OVER_BUDGET: "A limit was reached, so the reply was ended. What had arrived is kept; "
    "your account menu says which limit, and when it begins anew.",
}
FAILED = {
    ErrorKind.UNREACHABLE: "The model's server can't be reached. Try again, or tell an "
    "administrator.",
    ErrorKind.UNAUTHORIZED: "The model's server refused the key. An administrator can set it anew.",
    ErrorKind.RATE_LIMITED: "The model's server is over its limit. Try again later.",
    ErrorKind.NOT_FOUND: "The model's server does not know this model. Choose another, or tell an "
    "administrator.",
    ErrorKind.BAD_REQUEST: "The model's server did not accept the request. Choose another model, "
    "or tell an administrator.",
    ErrorKind.SERVER_ERROR: "The model's server failed. Try again.",
    ErrorKind.STREAM_ERROR: "The model's server broke the reply off. Try again.",
    ErrorKind.NOT_A_STREAM: "What the model's server sent is no reply. An administrator can check "
    "its address.",
    ErrorKind.REDIRECTED: "The address of the model's server redirects. An administrator can "
    "correct it.",
    ErrorKind.EMPTY: "The model's server sent an empty reply. The conversation may be too long "
    "for the model.",
    ErrorKind.TOO_LARGE: "The model's server sent more at once than is taken, so the reply was "
    "ended.",
    ErrorKind.MALFORMED: "A piece of the reply could not be read, so it is not whole. Try again.",
    ErrorKind.OUT_OF_RANGE: "The reply went beyond what this app takes, so it was ended.",
    ErrorKind.FINISH_REASON: "The model's server did not end the reply as a whole one. Try again.",
    ErrorKind.TOO_MANY_ROUNDS: "The model called tools again and again without an answer, so the "
    "reply was ended. Continue lets it go on with what it has found.",
}


def notice_of(message: Message) -> Notice | None:
    """The notice for a reply that has ended; None where there is nothing to say."""
    if message.ending in ("", Message.STREAMING, Ending.COMPLETE):
        return None
    if message.ending not in list(Ending):  # a newer version's, while processes are upgraded
        return Notice("The reply ended.")
    ending = Ending(message.ending)
    if ending is Ending.NO_ANSWER or (ending is Ending.LENGTH and not message.content):
        return Notice(_no_answer(message), is_error=True)
    if ending in CALM:
        return Notice(CALM[ending])
    kept = " What had arrived is kept." if _has_arrived(message) else ""
    if ending is Ending.CUT_OFF:
        return Notice(
            "The connection to the model ended before the reply was complete." + kept,
            is_error=True,
        )
    if ending is Ending.TIMED_OUT:
        return Notice(
            "The model's server fell silent, so the reply was ended." + kept, is_error=True
        )
    return _failed(message.upstream_error, kept)


def _no_answer(message: Message) -> str:
    if message.ending == Ending.LENGTH:
        return "The reply reached its length limit before its answer began. Retry asks again."
    if message.reasoning:
        return "The model thought, but gave no answer. Retry asks it again."
    if message.earlier_rounds:
        return "The model called tools, but gave no answer. Retry asks it again."
    return "The model ended the reply without an answer. Retry asks again."


def _has_arrived(message: Message) -> bool:
    arrived = message.content or message.reasoning or message.refusal or message.earlier_rounds
    return bool(arrived or message.extras.is_seen)


def retry_text(error: UpstreamError) -> str:
    """What a person reads before the next try; the seconds until then follow it."""
    return f"{FAILED[error.kind].partition('.')[0]}. Trying again"


def _failed(error: UpstreamError | None, kept: str) -> Notice:
    if error is None:
        return Notice("Something failed in this server; its log says what." + kept, is_error=True)
    text = FAILED[error.kind]
    if error.retry_after is not None:
        text = f"The model's server is over its limit. Try again in {_duration(error.retry_after)}."
    if error.kind is ErrorKind.FINISH_REASON:
        text = (
            f"The model's server ended the reply with “{error.code}”, as no whole reply ends. "
            "Try again."
        )
    status = f"{error.status} " if error.status else ""
    return Notice(text + kept, detail=f"{status}{error.message}".strip(), is_error=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
