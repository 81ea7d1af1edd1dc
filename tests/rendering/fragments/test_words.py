"""Numbers and states in words."""

from dataclasses import replace

import pytest

from chatapp.models import Message, Usage
from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.rounds import RunState
from chatapp.rendering.fragments import words
from chatapp.upstream.wire.model_list import Ability, ListedModel


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.03, "30 ms"),
        (0.4, "0.4 s"),
        (2.0, "2 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (185, "3 min 5 s"),
    ],
)
def test_durations_are_written_as_people_say_them(value: float, text: str) -> None:
    assert words.seconds(value) == text


@pytest.mark.parametrize(
    ("usage", "ending", "text"),
    [
        (Usage(provenance="unknown"), "complete", "The model's server reported no usage."),
        (
            Usage(provenance="reported", prompt_tokens=1200, cached_tokens=4, completion_tokens=18),
            "complete",
            "1,200 in, 4 of them from cache, 18 out",
        ),
        (
            Usage(
                provenance="estimated",
                prompt_tokens=12,
                upper_prompt_tokens=20,
                upper_completion_tokens=5,
            ),
            "stopped",
            "12 in, estimated from the length of the text, since the reply ended early, "
            "at most 25 in all",
        ),
    ],
    ids=["unknown", "reported", "estimated"],
)
def test_usage_says_what_is_known_and_how_it_was_estimated(
    usage: Usage, ending: str, text: str
) -> None:
    assert words.usage_details(usage, ending) == text


@pytest.mark.parametrize(
    ("left_out", "text"),
    [
        ({"content": 1}, "1 piece of the stream could not be read and was left out: content."),
        (
            {"image": 1, "content": 2},
            "3 pieces of the stream could not be read and were left out: content (2), image.",
        ),
    ],
)
def test_pieces_left_out_are_counted(left_out: dict[str, int], text: str) -> None:
    assert words.left_out_sentence(Extras(left_out=left_out)) == text


def test_every_state_of_a_tool_call_has_words() -> None:
    assert set(words.STATE_WORDS) == set(RunState)


def test_a_reply_has_a_place_among_its_siblings() -> None:
    first, second = Message(), Message()
    assert words.sibling_position(first, [first, second]) == words.SiblingPosition(1, None, second)
    assert words.sibling_position(second, [first, second]) == words.SiblingPosition(2, first, None)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (512, "512"),
        (8192, "8k"),
        (32_000, "32k"),
        (128_000, "128k"),
        (131_072, "128k"),
        (200_000, "200k"),
        (1_048_576, "1M"),
        (1_000_000, "1M"),
        (1_500_000, "1.5M"),
    ],
)
def test_context_sizes_are_written_as_advertised(count: int, text: str) -> None:
    assert words.token_count(count) == text


def test_a_models_abilities_are_listed_in_a_fixed_order() -> None:
    able = ListedModel("a", "A", 8192, frozenset(Ability))
    assert words.about_model(able) == "8k context, vision, tools, reasoning, web search"
    assert words.about_model(replace(able, description="Fast")).startswith("Fast · 8k context")
    assert words.about_model(ListedModel("a")) == ""
    assert words.about_model(ListedModel("a", takes_images=False)) == "text only"
