"""Conversations to be found, and a search for them."""

from collections.abc import Callable
from datetime import UTC
from uuid import UUID

import pytest

from chatapp.models import Conversation, Message, Upstream, User, index_some
from chatapp.search.forms import SearchForm
from chatapp.search.results import Results, find_results
from tests.support.stored import new_conversation, store_turn

Search = Callable[..., Results]


def index_all() -> None:
    while index_some():
        pass


def write_chat(person: User, upstream: Upstream, title: str, prompt: str) -> Conversation:
    """Create and index a conversation with one turn."""
    conversation = new_conversation(person, title)
    store_turn(conversation, upstream, prompt)
    index_all()
    return conversation


@pytest.fixture
def search(alice: User) -> Search:
    """Return a function that searches as Alice or as another person."""

    def search(
        query: str,
        person: User = alice,
        until: int | None = None,
        conversation: UUID | None = None,
    ) -> Results:
        form = SearchForm({"q": query}, UTC)
        assert form.is_valid(), form.problem
        return find_results(person, form.search_query, until, conversation)

    return search


def titles(results: Results) -> list[str]:
    return [group.conversation.title for group in results.conversations]


def messages(results: Results) -> list[Message]:
    keys = [passage.message for group in results.conversations for passage in group.passages]
    return [Message.objects.get(pk=key) for key in keys]
