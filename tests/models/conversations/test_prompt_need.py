"""The sentence for a person whose limit leaves too little for a prompt."""

import pytest

from chatapp.models.conversations.threads.prompt_need import describe_need
from chatapp.upstream.wire.requests.estimates import PromptSize

SIZE = PromptSize(messages=1, text_bytes=900, tools=0, tool_bytes=0)  # at most 980 tokens


@pytest.mark.parametrize(
    ("has_files", "has_earlier", "sentence"),
    [
        (False, False, "This prompt may need up to 1,130 tokens: shorten it."),
        (
            True,
            False,
            "This prompt may need up to 1,130 tokens, 1,126 of them for files: shorten it, or "
            "remove files.",
        ),
        (
            True,
            True,
            "This prompt may need up to 1,130 tokens, 1,126 of them for files and earlier "
            "messages: shorten it, remove files, or start a new chat.",
        ),
    ],
)
def test_a_refusal_says_what_needs_the_tokens_and_what_helps(
    has_files: bool, has_earlier: bool, sentence: str
) -> None:
    need = describe_need(SIZE, 150, "Why?", has_files=has_files, has_earlier=has_earlier)
    assert need == sentence
