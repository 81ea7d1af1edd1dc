"""A chat is found by the names and the text of its files."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chatapp.models import Message, Retention, SearchEntry, Upstream, User
from chatapp.models.retention.run import RetentionRun
from chatapp.models.search import file_texts, search_entries
from chatapp.models.search.full_text_everywhere import find_everywhere
from chatapp.text.indexing import terms
from tests.search.conftest import Search, index_all, messages, titles
from tests.support.attaching import attach_file
from tests.support.stored import fork_conversation, new_conversation, store_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def prompt(alice: User, saved_upstream: Upstream) -> Message:
    prompt, _ = store_turn(new_conversation(alice, "Figures"), saved_upstream, "Summarise")
    attach_file(prompt, "quarterly-report.txt", b"Revenue fell because of the nightingale project")
    attach_file(prompt, "sunset.png", b"pixels")
    index_all()
    prompt.refresh_from_db()
    return prompt


def test_a_prompt_is_found_by_the_text_and_the_names_of_its_files(
    search: Search, prompt: Message
) -> None:
    for query in ("nightingale", "quarterly", "sunset", "summarise revenue"):
        assert messages(search(query)) == [prompt], query
    [passage] = search("nightingale").conversations[0].passages
    assert passage.whose == "You, file quarterly-report.txt"
    assert [segment.text for segment in passage.segments if segment.is_found] == ["nightingale"]
    [passage] = search("sunset").conversations[0].passages
    assert (passage.whose, passage.segments[0].text) == ("You, file", "sunset")


def test_a_prompt_of_files_alone_is_found(search: Search, prompt: Message) -> None:
    Message.objects.filter(pk=prompt.pk).update(content="", indexed_at=None)
    index_all()
    assert messages(search("nightingale")) == [prompt]


def test_reviewers_find_chats_by_their_files(prompt: Message) -> None:
    assert find_everywhere(terms("nightingale")).conversations == [prompt.conversation_id]


def test_nobody_finds_another_persons_files(search: Search, prompt: Message, bob: User) -> None:
    assert not search("nightingale", bob).conversations


def test_a_fork_is_found_by_its_files(search: Search, alice: User, prompt: Message) -> None:
    fork_conversation(alice, prompt.children.get().pk)
    index_all()
    assert sorted(titles(search("nightingale"))) == ["Figures", "Figures (fork)"]


def test_an_expired_file_is_found_by_its_name_alone(search: Search, prompt: Message) -> None:
    Message.objects.filter(pk=prompt.pk).update(created_at=timezone.now() - timedelta(days=8))
    Retention(file_days=7).store()
    round = RetentionRun()
    for _ in iter(round.step, False):
        pass
    index_all()
    assert not search("nightingale").conversations
    assert messages(search("quarterly")) == [prompt]


def test_the_text_of_a_file_that_expires_meanwhile_is_not_indexed(
    search: Search, prompt: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts_just_before(keys: list[object]) -> object:
        texts = file_texts.file_texts(keys)  # type: ignore[arg-type]
        prompt.attachments.all().expire()
        return texts

    Message.objects.filter(pk=prompt.pk).update(indexed_at=None)
    with monkeypatch.context() as at_this_moment:
        at_this_moment.setattr(search_entries, "file_texts", texts_just_before)
        search_entries.index_some()
    index_all()
    assert not search("nightingale").conversations
    assert messages(search("quarterly")) == [prompt]


def test_deleting_a_chat_removes_its_files_from_the_index(prompt: Message) -> None:
    assert SearchEntry.objects.exists()
    prompt.conversation.erase()
    assert not SearchEntry.objects.exists()


def test_only_the_beginning_of_very_long_files_is_indexed(
    search: Search, alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_texts, "MAX_CHARACTERS", 60)
    monkeypatch.setattr(file_texts, "SLICE", 16)
    prompt, _ = store_turn(new_conversation(alice), saved_upstream, "Read")
    attach_file(
        prompt, "first.txt", b"The early nightingale sings in the warm evening " + b"x " * 9
    )
    attach_file(prompt, "second.txt", b"A late canary")
    index_all()
    for query in ("nightingale", "evening", "first", "second"):
        assert messages(search(query)) == [prompt], query
    assert not search("canary").conversations


def test_slices_cut_a_text_between_words_and_lose_nothing() -> None:
    text = "One two\nthree " * 5000 + "y" * 40_000
    slices = list(file_texts.slices(text))
    assert "".join(slices) == text
    assert max(map(len, slices)) <= file_texts.SLICE
    assert slices[0].endswith((" ", "\n"))
