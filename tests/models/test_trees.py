"""The tree of a conversation, without a database."""

from uuid import UUID, uuid4

import pytest

from chatapp.models import Message
from chatapp.models.trees import Tree

# A name is a message's path: "a" is a first prompt, "ab" a reply to it, "abc" the prompt after it.
# Oldest first, as a conversation has them.
RETRIED = ["a", "ab", "abc", "abcd", "ae"]
TWO_BEGINNINGS = ["a", "ab", "x", "xy"]


def tree_of(paths: list[str], choices: tuple[str, ...] = ()) -> tuple[Tree, dict[str, UUID]]:
    """Its messages hold their path; those of `choices` are others than the first of a response."""
    ids: dict[str, UUID] = {path: uuid4() for path in paths}
    messages = [
        Message(
            id=ids[path],
            parent_id=ids.get(path[:-1]),
            role=Message.Role.USER if len(path) % 2 else Message.Role.ASSISTANT,
            content=path,
            choice=1 if path in choices else 0,
        )
        for path in paths
    ]
    return Tree(messages), ids


@pytest.mark.parametrize(
    ("paths", "through", "branch"),
    [
        ([], "", []),
        (["a"], "", ["a"]),
        (RETRIED, "", ["a", "ae"]),
        (RETRIED, "a", ["a", "ae"]),
        (RETRIED, "ab", ["a", "ab", "abc", "abcd"]),
        (RETRIED, "abc", ["a", "ab", "abc", "abcd"]),
        (RETRIED, "abcd", ["a", "ab", "abc", "abcd"]),
        (RETRIED, "of another conversation", ["a", "ae"]),
        (TWO_BEGINNINGS, "", ["x", "xy"]),
        (TWO_BEGINNINGS, "a", ["a", "ab"]),
    ],
)
def test_a_branch_is_the_newest_that_leads_through_a_message(
    paths: list[str], through: str, branch: list[str]
) -> None:
    tree, ids = tree_of(paths)
    named = ids.get(through, uuid4()) if through else None
    assert [message.content for message in tree.branch(named)] == branch


def test_a_branch_goes_on_from_the_first_of_several_choices() -> None:
    tree, ids = tree_of(["a", "ab", "ac"], choices=("ac",))
    assert [message.content for message in tree.branch()] == ["a", "ab"]
    assert [message.content for message in tree.branch(ids["ac"])] == ["a", "ac"]


def test_siblings_share_what_they_follow_oldest_first() -> None:
    tree, ids = tree_of(RETRIED)
    prompt, reply, *_ = tree.branch(ids["ab"])
    assert [sibling.content for sibling in prompt.siblings] == ["a"]
    assert [sibling.content for sibling in reply.siblings] == ["ab", "ae"]


def test_the_reply_that_streams_is_known_wherever_it_stands() -> None:
    tree, ids = tree_of(RETRIED)
    assert tree.streaming is None
    tree.branch(ids["abcd"])[-1].ending = Message.STREAMING
    assert tree.streaming
    assert tree.streaming.content == "abcd"
