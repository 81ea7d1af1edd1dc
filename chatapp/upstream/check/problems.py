"""Explain why an upstream can't serve the app, and what to do, as results."""

from chatapp.checks.results import CheckResult, failed
from chatapp.upstream.check.answers import Answer
from chatapp.upstream.check.results import error_text
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.reply import Ending

_WHAT = "Upstream"

NO_MODEL = failed(
    _WHAT,
    "It lists no models, so there is none to ask",
    "Name a model to ask.",
)
# What was found, and what to do.
_FILES = ("It was sent nothing, because a file can't be read", "Check the storage of files.")
_BY_ERROR_KIND = {
    ErrorKind.UNREACHABLE: (
        "It can't be reached",
        "Check the address, that the server runs, and that this machine may connect to it.",
    ),
    ErrorKind.UNAUTHORIZED: (
        "It rejects the key",
        "Enter the key again, or a new one.",
    ),
    ErrorKind.RATE_LIMITED: (
        "It is rate-limited",
        "Wait, or raise the quota, and check again.",
    ),
    ErrorKind.NOT_FOUND: (
        "It does not know the address or the model",
        "Check that the address is the root of the API, which usually ends in /v1, and the model's "
        "name.",
    ),
    ErrorKind.BAD_REQUEST: (
        "It does not accept a plain chat request",
        "Check the model's name, and that it is a chat model.",
    ),
    ErrorKind.SERVER_ERROR: (
        "It fails",
        "Its log says why. Fix it, and check again.",
    ),
    ErrorKind.REDIRECTED: (
        "It redirects to another address",
        "Use that address: redirects aren't followed, because that would send the key there, too.",
    ),
    ErrorKind.STREAM_ERROR: (
        "It ends the reply with an error",
        "Its log says why.",
    ),
    ErrorKind.NOT_A_STREAM: (
        "It sends an answer that is not a reply",
        "The address may be that of a web page; an API's address usually ends in /v1.",
    ),
    ErrorKind.UNREAD_CALL: (
        "It passes on a tool call as text",
        "Turn on the parser for the model's tool calls in its settings.",
    ),
    ErrorKind.MALFORMED: (
        "It sends a reply that can't be read",
        "Record it with record_stream and send us the file.",
    ),
    ErrorKind.EMPTY: (
        "It sends an empty reply",
        "Its log may say why.",
    ),
    ErrorKind.TOO_LARGE: (
        "It sends more data than the app accepts",
        "Check that the address is that of the API.",
    ),
    ErrorKind.OUT_OF_RANGE: (
        "It numbers choices or tool calls out of range",
        "Record it with record_stream and send us the file.",
    ),
    ErrorKind.FINISH_REASON: (
        "It ends its reply with an unknown finish_reason, so every reply would be shown as failed",
        "Check the model's and the server's settings.",
    ),
    ErrorKind.TOO_MANY_ROUNDS: (
        "It keeps calling tools and never answers",
        "Try another model.",
    ),
    ErrorKind.TIMED_OUT: (
        "It does not answer in time",
        "Check that it is not overloaded, and that the model is loaded.",
    ),
    ErrorKind.NO_IMAGES: (
        "It takes no images",
        "Choose a model that takes them.",
    ),
    ErrorKind.NO_PARAMETER: (
        "It refuses a parameter of the request",
        "Remove the parameter from the upstream's request settings.",
    ),
    ErrorKind.TOO_LONG: (
        "It says that a short request is too long",
        "Check the size of the context that it runs the model with.",
    ),
    ErrorKind.FILE_LOST: _FILES,
    ErrorKind.FILE_UNREADABLE: _FILES,
}
# Errors of the list that asking for a reply would only repeat.
_CAUSES = frozenset({ErrorKind.UNREACHABLE, ErrorKind.UNAUTHORIZED, ErrorKind.REDIRECTED})
_NO_LIST = (
    "There is no list of models at its address",
    "Check that the address is the root of the API, which usually ends in /v1. If the server has "
    "no list, name a model to ask.",
)
_CUT_OFF = failed(
    _WHAT,
    "Its stream ends without a finish_reason, so every reply would be shown as cut off",
    "Find out what ends it early: the gateway, which may let one request end another, or a proxy "
    "with a time limit.",
)
_SAYS_NOTHING = failed(_WHAT, "It ends its reply without any content", "Try another model.")


def find_problem(answer: Answer) -> CheckResult | None:
    """Return why the upstream can't serve the app, judging by a plain answer; None if it can."""
    reply = answer.reply
    if reply.error:
        return problem_of_error(reply.error)
    if reply.ending is Ending.CUT_OFF:
        return _CUT_OFF
    return None if answer.has_said_something else _SAYS_NOTHING


def problem_of_list(error: UpstreamError) -> CheckResult:
    """Return why there is no model to ask, judging by the error of the list of models."""
    if error.kind in _CAUSES:
        return problem_of_error(error)
    if error.kind is ErrorKind.NOT_FOUND:
        return failed(_WHAT, *_NO_LIST, error_text(error), error.kind)
    return NO_MODEL


def problem_of_error(error: UpstreamError, what: str = _WHAT) -> CheckResult:
    """Describe an error of the upstream named `what`; the result's cause is its `ErrorKind`."""
    quote = error.code if error.kind is ErrorKind.FINISH_REASON else error_text(error)
    return failed(what, *_BY_ERROR_KIND[error.kind], quote, error.kind)


def out_of_time(seconds: float) -> CheckResult:
    return failed(
        _WHAT,
        f"It did not finish a short reply within {seconds:g} seconds",
        "Check that it is not overloaded, that the model is loaded, and that it obeys max_tokens.",
    )
