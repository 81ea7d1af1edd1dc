"""The changes that a refusal asks for, of what the request had."""

import pytest

from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.requests.concessions import Concession, concession_for

EVERYTHING = frozenset(Concession)


def refusal(message: str, status: int = 400) -> UpstreamError:
    return UpstreamError(ErrorKind.BAD_REQUEST, message, status)


UNKNOWN_NAME = (
    'Invalid JSON payload received. Unknown name "{}" at '
    "'tools[0].function_declarations[0].parameters': Cannot find field."
)


@pytest.mark.parametrize(
    ("message", "concession"),
    [
        (UNKNOWN_NAME.format("$schema"), Concession.SCHEMA_KEYWORDS),
        (UNKNOWN_NAME.format("additionalProperties"), Concession.SCHEMA_KEYWORDS),
        ("tools: 'additional_properties' is not supported", Concession.SCHEMA_KEYWORDS),
        # This wants the keyword.
        ("tools: 'additionalProperties' is required to be supplied", Concession.TOOLS),
        ("this model does not support tools", Concession.TOOLS),
        ("System role not supported", Concession.SYSTEM),
        ("messages[0].content must be a string", Concession.PARTS),
        ("Missing reasoning_content in message 1 with tools", Concession.BARE_CALLS),
        ("the prompt is odd", None),
    ],
)
def test_a_refusal_asks_for_one_concession(message: str, concession: Concession | None) -> None:
    assert concession_for(refusal(message), EVERYTHING) is concession


def test_nothing_is_conceded_that_was_not_sent() -> None:
    error = refusal(UNKNOWN_NAME.format("$schema"))
    assert concession_for(error, {Concession.TOOLS}) is Concession.TOOLS
    assert concession_for(error, ()) is None
    assert concession_for(refusal("this model does not support tools", 500), EVERYTHING) is None
