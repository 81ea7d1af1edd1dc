"""The failures that the demo acts out when asked: `fail` lists them, `fail: 429` does one."""

from dataclasses import dataclass

from chatapp.demo.errors import ApiError
from chatapp.demo.script import Ending, Script

RETRY_AFTER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Failure:
    """`what` is shown in the list; `outcome` is an error in place of a reply, or a broken reply."""

    what: str
    outcome: ApiError | Script


def breaking(ending: Ending, what: str) -> Script:
    """A reply that says a little and then ends as `ending`, with more text that stays unsaid."""
    said = f"You asked this demo to fail, so this answer is about to {what}. A few words more, and"
    unsaid = """ this is the part that you see only after **Continue**. What had arrived before \
was kept, and this follows on from it, as it would with a real model.

*This is chatapp's built-in demo, not a language model.*"""
    said_tokens = len(Script(said).answer_tokens)
    return Script(said + unsaid, ending=ending, stops_after=said_tokens)


FAILURES = {
    "401": Failure(
        "the key is refused",
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
    "429": Failure(
        f"too many requests, with `Retry-After: {RETRY_AFTER_SECONDS}`",
        ApiError(
            429,
            f"Rate limit reached. Please try again in {RETRY_AFTER_SECONDS} seconds.",
            type="requests",
            code="rate_limit_exceeded",
            headers=((b"Retry-After", str(RETRY_AFTER_SECONDS).encode()),),
        ),
    ),
    "500": Failure(
        "the upstream itself fails",
        ApiError(500, "The server had an error while answering.", type="server_error"),
    ),
    "503": Failure(
        "the upstream is overloaded",
        ApiError(503, "The engine is overloaded, please try again.", type="server_error"),
    ),
    "after 200": Failure(
        "an error arrives in the middle of the answer",
        breaking(Ending.ERROR, "be interrupted by an error"),
    ),
    "cut off": Failure(
        "the connection ends in the middle of the answer",
        breaking(Ending.CUT_OFF, "lose its connection"),
    ),
    "stall": Failure(
        "the answer falls silent; press Stop, or see what the app does about it",
        breaking(Ending.STALL, "fall silent"),
    ),
    "length": Failure(
        "the answer reaches its length limit",
        breaking(Ending.LENGTH, "reach its length limit"),
    ),
    "content filter": Failure(
        "a content filter ends the answer",
        breaking(Ending.CONTENT_FILTER, "be ended by a content filter"),
    ),
}


def list_of_failures() -> str:
    """A Markdown list of everything that can be asked for."""
    return "\n".join(f"- `fail: {name}`: {failure.what}" for name, failure in FAILURES.items())
