"""The request each dialect makes."""

import pytest

from chatapp.upstream.dialects import DIALECTS, OPENTOKEN, ChatMessage, Dialect

MESSAGES: list[ChatMessage] = [{"role": "user", "content": "Hello"}]


def test_every_dialect_is_found_by_its_name() -> None:
    assert DIALECTS["opentoken"] is OPENTOKEN
    assert all(name == dialect.name for name, dialect in DIALECTS.items())


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_every_dialect_asks_for_a_stream(dialect: Dialect) -> None:
    body = dialect.request_body("m", MESSAGES)
    assert (body["model"], body["messages"], body["stream"]) == ("m", MESSAGES, True)


def test_usage_is_asked_for_only_where_it_does_not_come_anyway() -> None:
    assert "stream_options" not in OPENTOKEN.request_body("m", MESSAGES)
    body = Dialect("another").request_body("m", MESSAGES)
    assert body["stream_options"] == {"include_usage": True}
