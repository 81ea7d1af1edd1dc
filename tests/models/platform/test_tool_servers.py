"""Validation of tool servers, and how their secrets are parsed."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from chatapp.models import ToolServer


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"name": "My Wiki"}, "Use lower-case letters, digits and single hyphens"),
        ({"name": "a--b"}, "Use lower-case letters, digits and single hyphens"),
        ({"url": ""}, "Enter the URL of the server"),
        ({"url": "ftp://host/mcp"}, "That isn't a valid tool server URL"),
        ({"url": "https://me:secret@host/mcp"}, "Put the password in a header"),
        ({"transport": "stdio", "command": " "}, "Enter the command"),
        ({"transport": "stdio", "command": "run 'it"}, "no closing quotation"),
        ({"secrets": "sk-very-secret"}, "Line 1 doesn't have the form Authorization"),
        ({"secrets": "A: b\n\nBad Name: x"}, "Line 3 doesn't have the form"),
        ({"transport": "stdio", "command": "x", "secrets": "A: b"}, "form NAME=value"),
        ({"timeout_seconds": 0}, "greater than or equal to 1"),
        ({"result_limit_kb": 10_001}, "less than or equal to 10000"),
    ],
)
def test_invalid_settings_are_refused_with_a_sentence(more: dict[str, Any], sentence: str) -> None:
    server = ToolServer(**{"name": "wiki", "url": "https://host/mcp", **more})
    with pytest.raises(ValidationError) as refused:
        server.full_clean(validate_unique=False, validate_constraints=False)
    assert sentence in str(refused.value)
    assert "sk-very-secret" not in str(refused.value)


def test_secrets_are_parsed_into_pairs() -> None:
    assert ToolServer(secrets="A: b: c \n\nX-D:").secret_pairs() == {"A": "b: c", "X-D": ""}
    server = ToolServer(transport=ToolServer.Transport.STDIO, secrets="A=b=ü \nB=")
    assert server.secret_pairs() == {"A": "b=ü", "B": ""}
