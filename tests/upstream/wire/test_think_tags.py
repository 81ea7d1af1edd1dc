"""Think tags at the start of the content, split anywhere, and closing tags on their own."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.upstream.wire.decoding.text_calls import TextCall
from chatapp.upstream.wire.decoding.think_tags import Splitter
from chatapp.upstream.wire.events import AnswerDelta, AnswerWasReasoning, ReasoningDelta
from tests.upstream import fold_events


def split_deltas(*deltas: str) -> tuple[str, str]:
    splitter = Splitter()
    parts = [part for text in deltas if text for part in splitter.receive_text(text)]
    events = (part for part in [*parts, *splitter.close()] if not isinstance(part, TextCall))
    reply = fold_events(events)
    assert all(reply.reasoning_parts)
    assert all(reply.answer_parts)
    return reply.reasoning, reply.answer


@pytest.mark.parametrize(
    ("content", "reasoning", "answer"),
    [
        ("Hello", "", "Hello"),
        ("  Hello ", "", "  Hello "),
        ("<think>Hm.</think>Hello", "Hm.", "Hello"),
        ("\n <think>\nHm.\n</think>\n\nHello\n", "Hm.\n", "Hello\n"),
        ("<thinking>Hm.</think></thinking>Hello", "Hm.</think>", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>a < b </thin </think>Hello", "a < b </thin ", "Hello"),
        ("<think>Hm.</think>Write <think>x</think>.", "Hm.", "Write <think>x</think>."),
        ("The tag <think> opens.", "", "The tag <think> opens."),
        ("<thin air", "", "<thin air"),
        ("<thi", "", "<thi"),
        ("<think>never closed </thi", "never closed </thi", ""),
        ("  ", "", "  "),
        ("Hm.</think>Hello", "Hm.", "Hello"),
        ("Hm.\n</think>\n\nHello</think>", "Hm.\n", "Hello</think>"),
        ("a < b, c</thi </thinking> Hello", "a < b, c</thi ", "Hello"),
        ("</think>Hello", "", "Hello"),
        ("Hm.</think>", "Hm.", ""),
        ("Hm. <think> and </think> Hello", "", "Hm. <think> and </think> Hello"),
        ("Close it with `</think>`: </think>", "", "Close it with `</think>`: </think>"),
        ("<thought>Hm.</thought>Hello", "Hm.", "Hello"),
        ("[THINK]Hm, [a].[/THINK]\nHello [b]", "Hm, [a].", "Hello [b]"),
        ("Hm.[/THINK]Hello", "Hm.", "Hello"),
        ("[a](b) [1], [THING]", "", "[a](b) [1], [THING]"),
        (" " * 100 + "<think>x", "", " " * 100 + "<think>x"),
    ],
)
def test_reasoning_and_answer_are_separated_at_every_split(
    content: str, reasoning: str, answer: str
) -> None:
    for i, j in itertools.combinations_with_replacement(range(len(content) + 1), 2):
        assert split_deltas(content[:i], content[i:j], content[j:]) == (reasoning, answer)
    assert split_deltas(*content) == (reasoning, answer)


def test_only_text_that_may_be_a_tag_is_held_back() -> None:
    splitter = Splitter()
    assert splitter.receive_text("<think>Hm </th") == [ReasoningDelta("Hm ")]
    assert splitter.receive_text("e") == [ReasoningDelta("</the")]
    assert len(Splitter().receive_text("<b")) == 1


def test_reasoning_is_shown_as_answer_until_its_closing_tag() -> None:
    splitter = Splitter(choice=1)
    assert splitter.receive_text("Hm. </th") == [AnswerDelta("Hm. ", choice=1)]
    assert splitter.receive_text("ink>\n") == [AnswerWasReasoning(choice=1)]
    assert splitter.receive_text("\nHello") == [AnswerDelta("Hello", choice=1)]


@given(st.lists(st.text(st.sampled_from("<think/g> `\nx"), max_size=12), max_size=6))
def test_the_split_never_matters_and_no_text_is_lost(deltas: list[str]) -> None:
    content = "".join(deltas)
    reasoning, answer = split_deltas(*deltas)
    assert (reasoning, answer) == split_deltas(content)
    if not re.search("</?think(ing)?>", content):
        assert (reasoning, answer) == ("", content)
