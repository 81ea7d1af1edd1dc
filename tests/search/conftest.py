"""Conversations to be found, and a search for them."""

from collections.abc import Callable
from datetime import UTC
from uuid import UUID

import pytest

from chatapp.models import Conversation, Message, Upstream, User, index_some
from chatapp.search.forms import SearchForm
from chatapp.search.results import Results, results
from tests.support.stored import answered, started_by

Search = Callable[..., Results]


def index_all() -> None:
    while index_some():
        pass


def written(person: User, upstream: Upstream, title: str, prompt: str) -> Conversation:
    """Create and index a conversation with one turn."""
    conversation = started_by(person, title)
    answered(conversation, upstream, prompt)
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
        return results(person, form.wanted, until, conversation)

    return search


def titles(found: Results) -> list[str]:
    return [one.conversation.title for one in found.found]


def messages(found: Results) -> list[Message]:
    keys = [passage.message for one in found.found for passage in one.passages]
    return [Message.objects.get(pk=key) for key in keys]
