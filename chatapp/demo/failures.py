"""The failures that the demo simulates on request: `fail` lists them, `fail: 429` runs one."""

from dataclasses import dataclass
from typing import NamedTuple

from chatapp.demo.errors import ApiError
from chatapp.demo.script import Ending, Script
from chatapp.upstream.recordings import Read, Recording

RETRY_AFTER_SECONDS = 20
HOUR = 3600.0
EVENT_STREAM = "text/event-stream"


class TransientFailure(NamedTuple):
    """A failure that passes: the first `times` tries get `error`, the next one gets `script`."""

    error: ApiError
    times: int
    script: Script


class ParameterRefusal(NamedTuple):
    """A refusal of a parameter: a request that has it gets `error`, another one gets `script`."""

    parameter: str
    error: ApiError
    script: Script


class ModelFailure(NamedTuple):
    """A failure of one model: `model` gets `error`, the others `script`."""

    model: str
    error: ApiError
    script: Script


# The result of a request. A recording is used for a malformed response.
Outcome = Script | ApiError | TransientFailure | ParameterRefusal | ModelFailure | Recording


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure with its description for the list."""

    description: str
    outcome: Outcome


def build_broken_reply(ending: Ending, event_words: str) -> Script:
    """Return a reply that says a little, then ends as `ending` with the rest of its text unsent."""
    text = (
        f"You asked this demo to fail, so this answer is about to {event_words}. "
        "A few words more, and"
    )
    unsaid = """ this is the part that you see only after **Continue**. The text before it \
was saved, and this follows on from it, as it would with a real model.

*This is chatapp's built-in demo, not a language model.*"""
    return Script(text, ending=ending, unsaid=unsaid)


def build_rate_limit_error(seconds: int) -> ApiError:
    return ApiError(
        429,
        f"Rate limit reached. Please try again in {seconds} seconds.",
        type="requests",
        code="rate_limit_exceeded",
        headers=((b"Retry-After", str(seconds).encode()),),
    )


def build_error(status: int, message: str, type: str = "server_error") -> ApiError:
    return ApiError(status, message, type=type)


def build_response(*pieces: bytes, media_type: str = EVENT_STREAM) -> Recording:
    """Return a response of status 200 with `pieces` as its body, sent without waiting."""
    reads = tuple(Read(0.0, piece) for piece in pieces)
    return Recording("auto", "demo", reads, headers={"content-type": media_type})


OVERLOADED = build_error(503, "The engine is overloaded, please try again.")
ANSWER_AFTER_RETRIES = Script(
    """This is the answer, after one or more failed tries. The app tried again automatically, \
since no text had arrived, and you saw it try.

*This is chatapp's built-in demo, not a language model.*"""
)
ANSWER_WITHOUT_PARAMETER = Script(
    """This is the answer, since the request did not have the parameter that I refuse. Set it for \
this chat and ask again to see me refuse it.

*This is chatapp's built-in demo, not a language model.*"""
)
REFUSAL = Script(
    refusal="I'm sorry, but this demo has been asked to refuse, and so it can't help with that."
)
AS_JSON = Script(
    """This answer came as a single JSON document, although a stream had been requested.

*This is chatapp's built-in demo, not a language model.*""",
    is_sent_whole=True,
)
PAGE = b"""<!doctype html>
<html><head><title>Down for maintenance</title></head>
<body><h1>Down for maintenance</h1><p>A proxy sent this page, with status 200.</p></body></html>
"""
HALF = b'data: {"choices":[{"index":0,"delta":{"content":"This chunk is sound, the next is"}}]}\n\n'

FIRST_HALF = b'data: {"choices":[{"index":0,"delta":{"content":"Half of an answer, and"}}]}\n\n'
DONE = b"data: [DONE]\n\n"


def build_finish_chunk(word: str) -> bytes:
    return f'data: {{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}\n\n'.encode()


STATUSES = {
    "401": Failure(
        "the key is rejected",
        ApiError(401, "Incorrect API key provided: demo.", code="invalid_api_key"),
    ),
    "403": Failure(
        "the key may not use this model",
        ApiError(403, "This key has no access to the model.", code="permission_denied"),
    ),
    "404": Failure(
        "the model is unknown",
        ApiError(404, "The model does not exist.", code="model_not_found", param="model"),
    ),
    "408": Failure("the request took too long", build_error(408, "Request timed out.", "timeout")),
    "409": Failure("a conflict with another request", build_error(409, "Conflict.", "conflict")),
    "429": Failure(
        f"too many requests, with `Retry-After: {RETRY_AFTER_SECONDS}`",
        build_rate_limit_error(RETRY_AFTER_SECONDS),
    ),
    "500": Failure("the model's server fails", build_error(500, "The server had an error.")),
    "503": Failure("the model's server is overloaded", OVERLOADED),
    "529": Failure(
        "the same, with another status", build_error(529, "Overloaded.", "overloaded_error")
    ),
}

TRANSIENT_FAILURES = {
    "503 once": Failure(
        "a 503, and then an answer", TransientFailure(OVERLOADED, 1, ANSWER_AFTER_RETRIES)
    ),
    "503 twice": Failure(
        "two 503s, and then an answer", TransientFailure(OVERLOADED, 2, ANSWER_AFTER_RETRIES)
    ),
    "429 once": Failure(
        "a 429 with `Retry-After: 2`, and then an answer",
        TransientFailure(build_rate_limit_error(2), 1, ANSWER_AFTER_RETRIES),
    ),
}

PARAMETER_REFUSALS = {
    "temperature": Failure(
        "the model takes no `temperature`, if this chat sets one",
        ParameterRefusal(
            "temperature",
            ApiError(
                400,
                "Unsupported parameter: 'temperature' is not supported with this model.",
                code="unsupported_parameter",
                param="temperature",
            ),
            ANSWER_WITHOUT_PARAMETER,
        ),
    ),
    "effort": Failure(
        "the model doesn't take this chat's reasoning effort, but might take another",
        ParameterRefusal(
            "reasoning_effort",
            ApiError(
                400,
                "Unsupported value: 'reasoning_effort' does not support this value with this "
                "model. Supported values are: 'default'.",
                code="unsupported_value",
                param="reasoning_effort",
            ),
            ANSWER_WITHOUT_PARAMETER,
        ),
    ),
}

FALLBACK_ANSWER = Script(
    """This is the answer of a model that does not fail. If you asked `demo-reasoner`, an \
administrator has named the model that answered as its fallback, and the reply says so.

*This is chatapp's built-in demo, not a language model.*"""
)
MODEL_FAILURES = {
    f"{name} of demo-reasoner": Failure(
        f"{what} with the model `demo-reasoner`; the others answer",
        ModelFailure("demo-reasoner", error, FALLBACK_ANSWER),
    )
    for name, what, error in (
        ("429", "too many requests", build_rate_limit_error(RETRY_AFTER_SECONDS)),
        ("503", "an overloaded server", OVERLOADED),
    )
}

BREAKING = {
    "after 200": Failure(
        "an error in the middle of the answer",
        build_broken_reply(Ending.ERROR, "be interrupted by an error"),
    ),
    "event": Failure(
        "the same, as an SSE event named `error`",
        build_response(FIRST_HALF, b"event: error\ndata: the model ran out of memory\n\n", DONE),
    ),
    "cut off": Failure(
        "the connection ends in the middle of the answer",
        build_broken_reply(Ending.CUT_OFF, "lose its connection"),
    ),
    "done": Failure(
        "`[DONE]` arrives in the middle of the answer", build_response(FIRST_HALF, DONE)
    ),
    "stall": Failure(
        "the answer stalls; press Stop, or wait to see what the app does",
        build_broken_reply(Ending.STALL, "fall silent"),
    ),
}

ENDING = {
    "length": Failure(
        "the answer reaches its length limit",
        build_broken_reply(Ending.LENGTH, "reach its length limit"),
    ),
    "content filter": Failure(
        "a content filter ends the answer",
        build_broken_reply(Ending.CONTENT_FILTER, "be ended by a content filter"),
    ),
    "refusal": Failure("the model refuses", REFUSAL),
    "no answer": Failure(
        "the model stops before its first word", build_response(build_finish_chunk("stop"), DONE)
    ),
    "odd word": Failure(
        "the answer ends with an unknown `finish_reason`",
        build_response(FIRST_HALF, build_finish_chunk("gave_up"), DONE),
    ),
}

ANSWERING_STRANGELY = {
    "json": Failure("the whole answer at once, as JSON", AS_JSON),
    "html": Failure(
        "an HTML page instead of an answer", build_response(PAGE, media_type="text/html")
    ),
    "empty": Failure("a stream without a single byte", build_response()),
    "malformed": Failure(
        "a chunk that is not JSON", build_response(HALF, b'data: {"choices":[{"delta":\n\n')
    ),
    "endless line": Failure(
        "8 MB without a line ending", build_response(b"data: ", *[b"x" * 65536] * 128)
    ),
    "silence": Failure(
        "not a byte for an hour; press Stop, or wait to see what the app does",
        Recording("auto", "demo", (Read(HOUR, b""),), headers={"content-type": EVENT_STREAM}),
    ),
    "redirect": Failure(
        "a redirect to another host, which must not receive the key",
        ApiError(307, "Moved.", headers=((b"Location", b"https://elsewhere.example/v1"),)),
    ),
}

GROUPS = {
    "Instead of an answer": STATUSES,
    "For one or two tries": TRANSIENT_FAILURES,
    "Because of a parameter": PARAMETER_REFUSALS,
    "With one model, to try fallbacks": MODEL_FAILURES,
    "In the middle of an answer": BREAKING,
    "At the end of an answer": ENDING,
    "Not what was requested": ANSWERING_STRANGELY,
}
FAILURES = {name: failure for group in GROUPS.values() for name, failure in group.items()}


def list_of_failures() -> str:
    """Return a Markdown list of all failures, in groups."""
    groups = (
        "\n".join(f"- `fail: {name}`: {failure.description}" for name, failure in group.items())
        for group in GROUPS.values()
    )
    titled = zip(GROUPS, groups, strict=True)
    return "\n\n".join(f"**{title}**\n\n{listed}" for title, listed in titled)
