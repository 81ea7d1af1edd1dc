"""Turning nodes into prompts and replies that take turns."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.transfer.tree import (
    CIRCULAR,
    DANGLING,
    NO_PARENT,
    REPEATED,
    Kind,
    Node,
    Part,
    Reasoning,
    Text,
    TooComplex,
    ToolCall,
    ToolResult,
    Tree,
    build_tree,
)
from chatapp.upstream.wire.reply import Ending

KINDS = {"u": Kind.PROMPT, "a": Kind.REPLY, "h": Kind.HIDDEN}


def parse_nodes(links: str) -> list[Node]:
    """Return nodes such as `u1 a1<u1`; the first letter is the kind."""
    nodes = []
    for link in links.split():
        name, _, parent = link.partition("<")
        nodes.append(Node(name, parent or None, KINDS[name[0]], [Text(f"text of {name}")]))
    return nodes


def tree(links: str, current: str = "") -> Tree:
    return build_tree(parse_nodes(links), current, Counter())


def shape(built_tree: Tree) -> list[str]:
    return [f"{message.source_id}<{message.parent or ''}" for message in built_tree.messages]


def test_siblings_stay_siblings_in_order() -> None:
    built_tree = tree("u1 a1<u1 a2<u1 u2<a1 u3<a1 a3<u3", "a2")
    assert shape(built_tree) == ["u1<", "a1<u1", "u2<a1", "u3<a1", "a3<u3", "a2<u1"]
    assert built_tree.active_leaf == "a2"


def test_what_is_between_two_prompts_becomes_one_reply() -> None:
    built_tree = tree("u1 a1<u1 a2<a1 h1<a2 a3<h1 u2<a3 a4<u2", "a4")
    assert shape(built_tree) == ["u1<", "a3<u1", "u2<a3", "a4<u2"]
    assert built_tree.messages[1].content == "text of a1\n\ntext of a2\n\ntext of a3"


def test_a_reply_that_forks_becomes_siblings_with_all_that_leads_to_them() -> None:
    built_tree = tree("u1 a1<u1 a2<a1 a3<a1 u2<a1")
    assert shape(built_tree) == ["u1<", "a1<u1", "a2<u1", "a3<u1", "u2<a1"]
    texts = [message.content for message in built_tree.messages]
    assert texts[2:4] == ["text of a1\n\ntext of a2", "text of a1\n\ntext of a3"]


def test_two_prompts_in_a_row_get_an_empty_reply_between_them() -> None:
    built_tree = tree("u1 u2<u1 u3<u1 a1<u3")
    assert shape(built_tree) == ["u1<", "u1:reply<u1", "u2<u1:reply", "u3<u1:reply", "a1<u3"]
    between = built_tree.messages[1]
    assert (between.is_placeholder, between.ending) == (True, Ending.NO_ANSWER)


def test_a_reply_without_a_prompt_gets_an_empty_one() -> None:
    built_tree = tree("a1 u1<a1")
    assert shape(built_tree) == ["a1:prompt<", "a1<a1:prompt", "u1<a1"]
    assert built_tree.messages[0].is_placeholder


def test_messages_with_links_that_are_missing_or_circular_say_so() -> None:
    nodes = parse_nodes("u1<gone a1<u1 u2<a3 a2<u2 a3<a2 a1<u2")
    built_tree = build_tree(nodes, "", Counter())
    assert shape(built_tree) == ["u1<", "a1<u1", "u2<", "a3<u2"]
    assert [(node.id, node.damage) for node in nodes if node.damage] == [
        ("u1", NO_PARENT),
        ("u2", CIRCULAR),
        ("a1", REPEATED),
    ]


def test_a_current_message_that_is_gone_makes_the_newest_branch_the_active_one() -> None:
    nodes = [Node("u", None, Kind.PROMPT)]
    for day in (1, 3, 2):
        at = datetime(2025, 1, day, tzinfo=UTC)
        nodes.append(Node(f"a{day}", "u", Kind.REPLY, [Text("x")], at))
    built_tree = build_tree(nodes, "gone", Counter())
    assert (built_tree.active_leaf, built_tree.notes) == ("a3", [DANGLING])


def test_the_active_branch_goes_through_a_hidden_or_inner_node_to_its_end() -> None:
    assert tree("u1 a1<u1 h1<a1", "h1").active_leaf == "a1"
    assert tree("u1 a1<u1 a2<a1 u2<a2", "a1").active_leaf == "u2"


def test_calls_and_results_are_paired_and_keep_their_order() -> None:
    parts: list[Part] = [
        Reasoning("think"),
        Text("first"),
        ToolCall("look", "{}", "1"),
        ToolCall("look", '{"x": 1}', "2"),
        ToolResult("two", "", "2"),
        ToolResult("one", "look", "1", "failed"),
        Reasoning("think again"),
        ToolCall("python", "1 + 1"),
        ToolResult("2", "python"),
        ToolResult("3", "python"),
        Text("last"),
        ToolCall("never", ""),
    ]
    nodes = [Node("u", None, Kind.PROMPT), Node("a", "u", Kind.REPLY, parts)]
    reply = build_tree(nodes, "", Counter()).messages[1]
    first, second, third = reply.rounds
    assert (first.reasoning, first.content) == ("think", "first")
    assert [(run.result, run.state) for run in first.tool_runs] == [
        ("one", "failed"),
        ("two", "done"),
    ]
    assert second.reasoning == "think again"
    assert second.tool_runs[0].result == "2\n\n3"
    assert (third.content, third.tool_runs[0].state) == ("last", "cancelled")


def test_a_reply_without_any_answer_says_so() -> None:
    nodes = [Node("u", None, Kind.PROMPT), Node("a", "u", Kind.REPLY, [Reasoning("hm")])]
    assert build_tree(nodes, "", Counter()).messages[1].ending is Ending.NO_ANSWER


def test_branches_that_would_multiply_the_text_are_refused() -> None:
    nodes = [Node("u", None, Kind.PROMPT)]
    for number in range(3000):
        nodes.append(Node(f"a{number}", nodes[-1].id if number else "u", Kind.REPLY))
    nodes += [Node(f"s{number}", f"a{number}", Kind.PROMPT) for number in range(3000)]
    with pytest.raises(TooComplex):
        build_tree(nodes, "", Counter())


LINKS = st.lists(
    st.tuples(st.sampled_from("uah"), st.integers(0, 12), st.integers(-1, 14)), max_size=14
)


@given(LINKS, st.integers(0, 14))
def test_any_links_give_a_tree_in_which_prompts_and_replies_take_turns(
    links: list[tuple[str, int, int]], current: int
) -> None:
    nodes = [
        Node(str(id), None if parent < 0 else str(parent), KINDS[kind], [Text(f"<{number}>")])
        for number, (kind, id, parent) in enumerate(links)
    ]
    first = {node.id: node for node in reversed(nodes)}
    built_tree = build_tree(nodes, str(current), Counter())
    seen: dict[str | None, str] = {None: "assistant"}
    for message in built_tree.messages:
        assert {message.role, seen[message.parent]} == {"user", "assistant"}
        seen[message.source_id] = message.role
    all_text = "".join(message.content for message in built_tree.messages)
    shown_nodes = [node for node in first.values() if node.kind]
    assert all(
        part.text in all_text
        for node in shown_nodes
        for part in node.parts
        if isinstance(part, Text)
    )
    assert (built_tree.active_leaf in seen) == bool(shown_nodes)
    assert built_tree.active_leaf not in {message.parent for message in built_tree.messages}
