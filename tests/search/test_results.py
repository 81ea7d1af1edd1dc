"""Search results on the configured database: only a person's own, up to date, newest first."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from chatapp.models import Conversation, Message, Upstream, User
from chatapp.models.search import full_text
from tests.search.conftest import Search, index_all, messages, titles, write_chat
from tests.search.texts import FOUND, TEXTS
from tests.support.stored import build_reply, end, new_conversation, store_turn


@pytest.fixture(params=[(600, 9000), (4, 9000), (1, 0)], ids=["first", "more", "by index"])
def newest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vary how many of the newest entries PostgreSQL scans before it uses its index."""
    monkeypatch.setattr(full_text, "NEWEST", request.param[0])
    monkeypatch.setattr(full_text, "MAX_NEWEST", request.param[1])


@pytest.mark.usefixtures("newest")
def test_queries_find_the_expected_texts(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    """Check the table used for the pure functions against the database."""
    for name, text in TEXTS.items():
        conversation = new_conversation(alice, name)
        conversation.ask(conversation.pk, text, None, saved_upstream, "m", conversation.pk)
    index_all()
    for query, expected in FOUND:
        others = expected - {query}  # the title is a match, too
        found_titles = {title for title in titles(search(query)) if title != query}
        assert found_titles == others, query


def test_titles_prompts_answers_and_reasoning_are_found(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = new_conversation(alice, "About birds")
    prompt, reply = conversation.ask(
        conversation.pk, "Which sing?", None, saved_upstream, "m", conversation.pk
    )
    end(reply, build_reply("The nightingale", "Thinking of owls"))
    index_all()
    assert titles(search("birds")) == ["About birds"]
    assert messages(search("sing")) == [prompt]
    assert messages(search("nightingale")) == messages(search("owls")) == [reply]
    [group] = search("owls").conversations
    assert group.passages[0].whose == "m, reasoning"
    assert [segment.text for segment in group.passages[0].segments if segment.is_found] == ["owls"]


def test_passages_are_plain_text_with_their_matches_marked(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = new_conversation(alice)
    prompt, reply = conversation.ask(
        conversation.pk, "Of **canaries**", None, saved_upstream, "m", conversation.pk
    )
    end(
        reply, build_reply("## Birds\n\n| Bird | Song |\n|---|---|\n| `canary` | **loud _song_** |")
    )
    index_all()
    [group] = search("canar").conversations
    texts = {
        passage.message: "".join(
            f"[{segment.text}]" if segment.is_found else segment.text
            for segment in passage.segments
        )
        for passage in group.passages
    }
    assert texts == {prompt.pk: "Of [canar]ies", reply.pk: "Birds Bird Song [canar]y loud song"}


def test_nobody_finds_another_persons_words(
    search: Search, alice: User, bob: User, saved_upstream: Upstream
) -> None:
    write_chat(alice, saved_upstream, "Secret canary", "Of the canary")
    write_chat(bob, saved_upstream, "Mine", "Of a sparrow")
    for query in ("canary", "can", '"of the"', "from:me canary", "from:model", "has:code"):
        assert "Secret canary" not in titles(search(query, bob)), query
    assert titles(search("from:me", bob)) == ["Mine"]


def test_a_user_id_that_is_a_prefix_of_another_finds_nothing_of_theirs(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    """Each index word is prefixed with its owner, and no word can imitate such a prefix."""
    write_chat(alice, saved_upstream, "Sum", f"0{alice.pk}_canary {alice.pk}x 1_canary")
    other = User.objects.create_user("carol", pk=alice.pk * 10 + 1)
    assert not search("canary", other).conversations
    assert not search("1_canary", other).conversations


def test_trashed_temporary_and_deleted_content_is_not_found(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = write_chat(alice, saved_upstream, "Birds", "Of the canary")
    rows = Conversation.objects.filter(pk=conversation.pk)
    now = timezone.now()
    for away, back in (
        ({"trashed_at": now}, {"trashed_at": None}),
        ({"is_temporary": True}, {"is_temporary": False}),
    ):
        rows.update(**away)
        assert not search("canary").conversations
        assert not search("birds").conversations
        rows.update(**back)
        assert titles(search("canary")) == ["Birds"]
    rows.update(archived_at=now)
    assert titles(search("canary")) == ["Birds"]
    Message.objects.update(deleted_at=now)
    assert not search("canary").conversations
    Message.objects.update(deleted_at=None)
    assert messages(search("canary"))


@pytest.mark.usefixtures("newest")
def test_the_newest_come_first_and_older_ones_after(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    began_at = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(40):
        conversation = new_conversation(alice, f"Chat {number}")
        store_turn(conversation, saved_upstream, "Of the canary")
        at = began_at + timedelta(days=number)
        conversation.messages.update(created_at=at, indexed_at=None)
    index_all()
    seen: list[str] = []
    until: int | None = None
    while True:
        page = search("canary", until=until)
        seen += titles(page)
        if (until := page.older) is None:
            break
    assert seen == [f"Chat {number}" for number in reversed(range(40))]


def test_a_conversation_shows_three_passages_and_the_number_of_others(
    search: Search, alice: User, saved_upstream: Upstream
) -> None:
    conversation = new_conversation(alice)
    after = None
    for number in range(4):
        _, after = store_turn(conversation, saved_upstream, f"Of canary {number}", after)
    index_all()
    write_chat(alice, saved_upstream, "Another", "Of the canary")
    [group] = [
        candidate
        for candidate in search("canary").conversations
        if candidate.conversation == conversation
    ]
    assert (len(group.passages), group.more) == (3, 5)
    [whole] = search("canary", conversation=group.conversation.pk).conversations
    assert (whole.conversation, len(whole.passages), whole.more) == (conversation, 8, 0)


def test_all_passages_of_a_conversation_are_paged_and_only_for_its_owner(
    search: Search, alice: User, bob: User, saved_upstream: Upstream
) -> None:
    conversation = new_conversation(alice)
    after = None
    for number in range(40):
        _, after = store_turn(conversation, saved_upstream, f"Of canary {number}", after)
    index_all()
    first = search("canary", conversation=conversation.pk)
    older_page = search("canary", conversation=conversation.pk, until=first.older)
    assert (len(messages(first)), len(messages(older_page)), older_page.older) == (60, 20, None)
    assert {message.pk for message in (*messages(first), *messages(older_page))} == set(
        conversation.messages.values_list("pk", flat=True)
    )
    assert not search("canary", bob, conversation=conversation.pk).conversations


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from:me", {"Of the canary", "```py"}),
        ("FROM:me canary", {"Of the canary"}),
        ("from:model canary", {"To Of the canary"}),
        ("has:code", {"```py"}),
        ("has:code from:me", {"```py"}),
        ("model:gemini", {"To Of the canary", "To ```py"}),
        ("model:google/gemini-3 canary", {"To Of the canary"}),
        ("model:3-flash canary", {"To Of the canary"}),
        ("model:gpt", set()),
        ('project:"Nature writing" from:me', {"Of the canary"}),
        ("project:nat from:me", {"Of the canary"}),
        ("project:writing canary from:me", {"Of the canary"}),
        ("project:other from:me", set()),
        ("after:2026-03-02 from:me", {"```py"}),
        ("before:2026-03-02 from:me", {"Of the canary"}),
        ("before:2026-03 from:me", {"Of the canary"}),
        ("after:2026-03-03 from:me", set()),
        ("before:9999 after:0001 canary from:me", {"Of the canary"}),
    ],
)
def test_filters(
    search: Search, alice: User, saved_upstream: Upstream, query: str, expected: set[str]
) -> None:
    nature = alice.projects.create(name="Nature writing")
    for text, day, project in (
        ("Of the canary", datetime(2026, 2, 28, 12, tzinfo=UTC), nature),
        ("```py", datetime(2026, 3, 2, tzinfo=UTC), None),
    ):
        conversation = new_conversation(alice, "Chat")
        conversation.project = project
        store_turn(conversation, saved_upstream, text)
        conversation.messages.update(created_at=day)
    index_all()
    assert {message.content for message in messages(search(query))} == expected


def test_the_project_filter_matches_only_own_projects(
    search: Search, alice: User, bob: User, saved_upstream: Upstream
) -> None:
    alice.projects.create(name="Nature")
    write_chat(bob, saved_upstream, "Mine", "Of a sparrow")
    assert not search("project:nature", bob).conversations


def test_a_member_finds_their_own_chats_in_a_shared_project_and_no_others(
    search: Search, alice: User, bob: User, saved_upstream: Upstream
) -> None:
    nature = alice.projects.create(name="Nature")
    nature.members.create(person=bob, may_add=True)
    for person, text in ((alice, "Of a hawk"), (bob, "Of a sparrow")):
        conversation = new_conversation(person, "Chat")
        conversation.project = nature
        store_turn(conversation, saved_upstream, text)
    index_all()
    own_messages = messages(search("project:nature from:me", bob))
    assert {message.content for message in own_messages} == {"Of a sparrow"}
