"""The requests that dialects build, and recognising a dialect by its marks."""

import pytest

from chatapp.upstream.wire.requests.dialects import (
    AIGATEWAY,
    AIVENE,
    AUTO,
    DIALECTS,
    OPENAI,
    OPENTOKEN,
    ChatMessage,
    Dialect,
    Marks,
    RequestOptions,
    UsageChunk,
    UsageHabit,
    find_dialect,
    find_spelling,
)
from chatapp.upstream.wire.requests.spellings import (
    COMMON_SPELLING,
    DASHSCOPE_SPELLING,
    MISTRAL_SPELLING,
    OPENAI_SPELLING,
    OPENROUTER_SPELLING,
    Spelling,
)

MESSAGES: list[ChatMessage] = [{"role": "user", "content": "Hello"}]


def test_every_dialect_is_found_by_its_name() -> None:
    assert list(DIALECTS) == [
        *("auto", "opentoken", "openai", "aivene", "aigateway"),
        *("openrouter", "mistral", "dashscope"),
    ]
    assert all(name == dialect.name for name, dialect in DIALECTS.items())


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_every_dialect_requests_a_stream(dialect: Dialect) -> None:
    body = dialect.request_body("m", MESSAGES)
    assert (body["model"], body["messages"], body["stream"]) == ("m", MESSAGES, True)


@pytest.mark.parametrize("dialect", [AUTO, OPENAI])
def test_usage_is_requested_unless_it_always_comes(dialect: Dialect) -> None:
    assert dialect.request_body("m", MESSAGES)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in dialect.request_body("m", [], takes_usage_option=False)


@pytest.mark.parametrize("dialect", [OPENTOKEN, AIGATEWAY])
def test_usage_that_always_comes_is_not_requested(dialect: Dialect) -> None:
    assert "stream_options" not in dialect.request_body("m", MESSAGES)


def test_parameters_and_tools_are_added_but_replace_no_reserved_parameter() -> None:
    tool = {"type": "function", "function": {"name": "now"}}
    parameters = {"temperature": 0, "n": 2, "stream": False, "model": "x", "messages": []}
    body = OPENTOKEN.request_body("m", MESSAGES, RequestOptions([tool], parameters))
    assert body == {
        "model": "m",
        "messages": MESSAGES,
        "stream": True,
        "temperature": 0,
        "n": 2,
        "tools": [tool],
    }


@pytest.mark.parametrize(("n", "choices"), [(None, 1), (3, 3), (0, 1), ("many", 1)])
def test_the_number_of_choices_comes_from_n(n: object, choices: int) -> None:
    assert RequestOptions(parameters={"n": n}).choices == choices


@pytest.mark.parametrize(
    ("seen", "dialect"),
    [
        (Marks(UsageHabit.ALWAYS, UsageChunk.EMPTY_CHOICES, False, "chatcmpl-1"), OPENTOKEN),
        (Marks(UsageHabit.ALWAYS, UsageChunk.WITHOUT_CHOICES, False, "chatcmpl-7"), AIGATEWAY),
        (Marks(UsageHabit.ALWAYS, UsageChunk.WITH_CHOICE, False, ""), AUTO),
        (Marks(UsageHabit.OPT_IN, UsageChunk.EMPTY_CHOICES, True, "chatcmpl-1"), OPENAI),
        (Marks(UsageHabit.OPT_IN, UsageChunk.EMPTY_CHOICES, False, "chatcmpl-1"), AUTO),
        (Marks(UsageHabit.OPT_IN, UsageChunk.EMPTY_CHOICES, False, "ilbs_ccb8"), AIVENE),
        (Marks(UsageHabit.NEVER, UsageChunk.NONE, False, "ilbs_ccb8"), AUTO),
    ],
)
def test_a_dialect_is_recognised_by_its_marks(seen: Marks, dialect: Dialect) -> None:
    assert find_dialect(seen) is dialect


def test_every_dialect_has_its_own_marks() -> None:
    marks = [dialect.marks for dialect in DIALECTS.values() if dialect.marks]
    assert len(set(marks)) == len(marks) == 4


@pytest.mark.parametrize(
    ("dialect", "host", "spelling"),
    [
        ("auto", "gateway.example", COMMON_SPELLING),
        ("auto", "", COMMON_SPELLING),
        ("auto", "openrouter.ai", OPENROUTER_SPELLING),
        ("auto", "eu.api.openai.com", OPENAI_SPELLING),
        ("auto", "team.openai.azure.com", OPENAI_SPELLING),
        ("auto", "notopenai.com", COMMON_SPELLING),
        ("opentoken", "api.mistral.ai", MISTRAL_SPELLING),
        ("openai", "gateway.example", OPENAI_SPELLING),
        ("dashscope", "gateway.example", DASHSCOPE_SPELLING),
        ("openrouter", "api.openai.com", OPENROUTER_SPELLING),
        ("of a newer version", "gateway.example", COMMON_SPELLING),
    ],
)
def test_an_upstream_spells_parameters_as_its_dialect_or_its_host(
    dialect: str, host: str, spelling: Spelling
) -> None:
    assert find_spelling(dialect, host) is spelling
