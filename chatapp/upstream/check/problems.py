"""Why an upstream can't serve the app, and what to do: findings."""

from chatapp.findings import Finding, failed
from chatapp.upstream.check.answers import Answer
from chatapp.upstream.check.verdicts import error_text
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError
from chatapp.upstream.wire.reply import Ending

_WHAT = "Upstream"

NO_MODEL = failed(
    _WHAT,
    "It lists no models, so there is none to ask",
    "Give one with --model, or name its models in the upstream's settings.",
)
# What was found, and the cure.
_OF_ERRORS = {
    ErrorKind.UNREACHABLE: (
        "It can't be reached",
        "Check the address, that the gateway runs, and that this machine may connect to it.",
    ),
    ErrorKind.UNAUTHORIZED: (
        "It refuses the key",
        "Set the right one: OPENAI_API_KEY with --key-from-env, or the key in the upstream's "
        "settings.",
    ),
    ErrorKind.RATE_LIMITED: (
        "It is over its limit",
        "Wait, or raise the quota, and check again.",
    ),
    ErrorKind.NOT_FOUND: (
        "It does not know the address or the model",
        "Check that the base URL ends where the API begins, mostly in /v1, and the model's name.",
    ),
    ErrorKind.BAD_REQUEST: (
        "It does not accept a plain chat request",
        "Check the model's name, and that it is a model for chat.",
    ),
    ErrorKind.SERVER_ERROR: (
        "It fails",
        "Its log says why; check again once it is mended.",
    ),
    ErrorKind.REDIRECTED: (
        "It redirects to another address",
        "Give that one: no redirect is followed, since the key would go along.",
    ),
    ErrorKind.STREAM_ERROR: (
        "It breaks the reply off with an error",
        "Its log says why.",
    ),
    ErrorKind.NOT_A_STREAM: (
        "It answers with something that is no reply",
        "The address may be that of a web page; the API's mostly ends in /v1.",
    ),
    ErrorKind.MALFORMED: (
        "It sends what can't be read as a reply",
        "Record it with record_stream and send us the file.",
    ),
    ErrorKind.EMPTY: (
        "It sends an empty reply",
        "Its log may say why.",
    ),
    ErrorKind.TOO_LARGE: (
        "It sends more at once than is taken",
        "Check that the address is that of the API.",
    ),
    ErrorKind.OUT_OF_RANGE: (
        "It numbers choices or tool calls out of any range",
        "Record it with record_stream and send us the file.",
    ),
    ErrorKind.FINISH_REASON: (
        "It ends its reply with a finish_reason that no whole reply has, so every reply would be "
        "shown as failed",
        "See what its model or its server lacks.",
    ),
    ErrorKind.TOO_MANY_ROUNDS: (
        "It calls tools again and again and never answers",
        "Try another model.",
    ),
    ErrorKind.TIMED_OUT: (
        "It does not answer in time",
        "Check that it is not overloaded, and that the model is loaded.",
    ),
}
_CUT_OFF = failed(
    _WHAT,
    "Its stream ends without a finish_reason, so every reply would be shown as cut off",
    "See what ends it early: the gateway, which may let one request end another, or a proxy with "
    "a time limit.",
)
_SAYS_NOTHING = failed(
    _WHAT, "It ends its reply without having said anything", "Try another model."
)


def problem_of(answer: Answer) -> Finding | None:
    """What keeps the upstream from serving the app, judged by a plain answer."""
    reply = answer.reply
    if reply.error:
        return problem_of_error(reply.error)
    if reply.ending is Ending.CUT_OFF:
        return _CUT_OFF
    return None if answer.has_said_something else _SAYS_NOTHING


def problem_of_error(error: UpstreamError, what: str = _WHAT) -> Finding:
    """What the upstream named `what` failed with; it may have said what is secret."""
    said = error.code if error.kind is ErrorKind.FINISH_REASON else error_text(error)
    return failed(what, *_OF_ERRORS[error.kind], said)


def out_of_time(seconds: float) -> Finding:
    return failed(
        _WHAT,
        f"It has not finished a short reply within {seconds:g} seconds",
        "Check that it is not overloaded, that the model is loaded, and that it takes max_tokens.",
    )
