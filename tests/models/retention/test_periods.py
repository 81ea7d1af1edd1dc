"""Retention deletes and keeps what its preview says."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from chatapp.models import (
    Attachment,
    AuditDetail,
    AuditEvent,
    Conversation,
    DailyUsage,
    LegalHold,
    Message,
    Project,
    ReplyImage,
    Retention,
    Upstream,
    Usage,
    User,
    audit,
)
from chatapp.models.audit import Broken
from chatapp.models.conversations.chats.erasable import ERASED_AT_ONCE
from chatapp.models.conversations.threads.branch_history import MIN_CACHED_MESSAGES
from chatapp.models.policies import legal_holds
from chatapp.models.retention import run
from chatapp.models.retention.run import RetentionRun
from tests.support.attaching import attach_file
from tests.support.clock import Step
from tests.support.stored import build_reply, end, store_turn

pytestmark = pytest.mark.django_db

GIF = b"GIF89a"


def chat(person: User, upstream: Upstream, title: str, days: float, **fields: object) -> Message:
    """Create a conversation that was last used that many days ago, with two images in its reply;
    return the reply."""
    conversation = person.conversations.create(title=title)
    _, reply = conversation.ask(uuid4(), "Why?", None, upstream, "one", uuid4())
    end(reply, build_reply("So."))
    for position in range(2):
        ReplyImage.objects.create(message=reply, position=position, media_type="gif", data=GIF)
    moment = timezone.now() - timedelta(days=days)
    record = {"image_count": 2}
    Message.objects.filter(conversation=conversation).update(created_at=moment)
    Message.objects.filter(pk=reply.pk).update(extras_record=record)
    Conversation.objects.filter(pk=conversation.pk).update(updated_at=moment, **fields)
    reply.conversation = conversation
    return reply


def titles() -> set[str]:
    return set(Conversation.objects.values_list("title", flat=True))


def keep(**days: int) -> Retention:
    retention = Retention(**days)
    retention.store()
    return retention


def apply() -> RetentionRun:
    """Run a round to its end."""
    round = RetentionRun()
    for _ in iter(round.step, False):
        pass
    round.record()
    return round


def test_nothing_is_deleted_by_default(alice: User, saved_upstream: Upstream) -> None:
    chat(alice, saved_upstream, "Of old", 5000)
    assert Retention.now() == Retention()
    assert not apply().gone
    assert titles() == {"Of old"}
    assert not Retention().preview().counts


def test_old_conversations_go_from_every_folder_unless_held_or_in_use(
    alice: User, bob: User, olive: User, saved_upstream: Upstream
) -> None:
    old = timezone.now() - timedelta(days=40)
    project = Project.objects.create(user=alice, name="Ours")
    chat(alice, saved_upstream, "Loose", 31)
    chat(alice, saved_upstream, "Pinned", 31, is_pinned=True)
    chat(alice, saved_upstream, "Archived", 31, archived_at=old)
    chat(alice, saved_upstream, "Filed", 31, project=project)
    chat(alice, saved_upstream, "In the trash", 31, trashed_at=timezone.now())
    chat(alice, saved_upstream, "Used", 29)
    chat(alice, saved_upstream, "Temporary", 31, is_temporary=True)
    running = chat(alice, saved_upstream, "Running", 31)
    Message.objects.filter(pk=running.pk).update(ending="streaming")
    held_chat = chat(alice, saved_upstream, "Held", 31).conversation
    LegalHold.begin(alice, held_chat.pk, "a matter", olive)
    chat(bob, saved_upstream, "Bob's", 31)
    LegalHold.begin(bob, None, "a matter", olive)
    preview = keep(conversation_days=30).preview()
    assert (preview.conversations.count, preview.conversations.held) == (5, 2)
    assert (preview.people, preview.messages, preview.bytes) == (1, 10, 10 * len(GIF))
    assert (preview.images.count, preview.images.held) == (10, 4)
    round = apply()
    assert titles() == {"Used", "Temporary", "Running", "Held", "Bob's"}
    assert round.gone == preview.counts == {"conversations": 5, "messages": 10, "images": 10}
    assert {person for person, _ in round.erased} == {alice.pk}
    assert len(round.erased) == 5
    assert Project.objects.exists()
    LegalHold.objects.get(user=alice).end(olive)
    apply()
    assert "Held" not in titles()


def test_usage_stays_after_its_conversation_is_deleted(
    alice: User, saved_upstream: Upstream
) -> None:
    chat(alice, saved_upstream, "Old", 31)
    usages, days = Usage.objects.count(), DailyUsage.objects.count()
    assert usages
    keep(conversation_days=30)
    apply()
    assert not Message.objects.exists()
    assert (Usage.objects.count(), DailyUsage.objects.count()) == (usages, days)


def test_files_go_earlier_and_their_prompts_keep_their_names(
    alice: User, bob: User, olive: User, saved_upstream: Upstream
) -> None:
    reply = chat(alice, saved_upstream, "Old", 8)
    prompts = [
        answer.conversation.messages.get(role="user")
        for answer in (
            reply,
            chat(alice, saved_upstream, "New", 6),
            chat(alice, saved_upstream, "Temporary", 8, is_temporary=True),
            chat(bob, saved_upstream, "Held", 8),
        )
    ]
    for prompt in prompts:
        attach_file(prompt, "report <1>.txt", b"Sales fell")
    running = chat(alice, saved_upstream, "Running", 8)
    attach_file(running.conversation.messages.get(role="user"), "running.txt")
    Message.objects.filter(pk=running.pk).update(ending="streaming")
    LegalHold.begin(bob, None, "a matter", olive)
    Message.objects.update(indexed_at=timezone.now())
    preview = keep(file_days=7).preview()
    assert (preview.files.count, preview.files.held) == (1, 1)
    assert apply().gone == preview.counts == {"images": 4, "files": 1}
    old = prompts[0].attachments.get()
    assert (old.name, old.size, old.file, old.is_expired) == ("report <1>.txt", 10, None, True)
    [part] = Message.objects.get(pk=prompts[0].pk).file_parts
    words = "(The file report &lt;1&gt;.txt was deleted by the retention policy.)"
    assert part == {"type": "text", "text": words}
    again = Message.objects.filter(indexed_at=None)
    assert list(again) == [prompts[0]], "its text is in the search index no more"
    assert Attachment.objects.filter(file=None).count() == 1
    [event] = AuditEvent.objects.filter(action="retention.applied")
    assert event.detail.values == {"images": 4, "files": 1}


def test_files_that_were_never_sent_go_with_their_draft(
    alice: User, bob: User, olive: User, clock: Step
) -> None:
    for person in (alice, bob):
        Attachment.objects.create(user=person, name="draft.txt", size=9, received=9)
    LegalHold.begin(bob, None, "a matter", olive)
    clock(8 * 86_400)
    preview = keep(file_days=7).preview()
    assert apply().gone == preview.counts == {"files": 1}
    assert Attachment.objects.get().user == bob


def test_a_long_chat_sends_no_expired_file_from_a_cache(
    alice: User, saved_upstream: Upstream
) -> None:
    conversation, before = Conversation(user=alice, title="Long"), None
    for number in range(MIN_CACHED_MESSAGES):
        prompt, before = store_turn(conversation, saved_upstream, f"{number}", before)
        if number == 1:
            attach_file(prompt, "report.txt", b"Sales fell")
    Message.objects.update(created_at=timezone.now() - timedelta(days=8))

    def render_history() -> str:
        return str(conversation.history_through(None).history().messages)

    assert "Sales fell" in render_history()
    assert "Sales fell" in render_history()
    keep(file_days=7)
    apply()
    assert "Sales fell" not in render_history()
    assert "deleted by the retention policy" in render_history()


def test_images_go_earlier_and_their_reply_notes_that_there_were_some(
    alice: User, bob: User, olive: User, saved_upstream: Upstream
) -> None:
    old = chat(alice, saved_upstream, "Old", 8)
    chat(alice, saved_upstream, "New", 6)
    chat(alice, saved_upstream, "Temporary", 8, is_temporary=True)
    chat(bob, saved_upstream, "Held", 8)
    LegalHold.begin(bob, None, "a matter", olive)
    preview = keep(file_days=7, conversation_days=30).preview()
    assert (preview.images.count, preview.images.held, preview.bytes) == (2, 2, 2 * len(GIF))
    assert apply().gone == preview.counts == {"images": 2}
    assert len(titles()) == 4
    remaining_titles = ReplyImage.objects.values_list("message__conversation__title", flat=True)
    assert sorted(set(remaining_titles)) == ["Held", "New", "Temporary"]
    old.refresh_from_db()
    assert (old.extras.image_count, old.extras.expired_images) == (0, 2)
    assert old.extras.has_visible_parts


@pytest.mark.django_db(transaction=True)
def test_emptying_audit_details_keeps_the_hash_chain_valid(
    alice: User, bob: User, olive: User, clock: Step
) -> None:
    LegalHold.begin(bob, None, "a matter", olive)
    with transaction.atomic():
        for about in (alice, bob):
            audit.record("person.changed", actor=alice, about=about, detail={"note": "secret"})
    keep(audit_detail_days=1)
    assert not Retention.now().preview().counts  # everything is from today
    clock(2 * 86_400)
    preview = Retention.now().preview()
    assert (preview.details.count, preview.details.held) == (1, 1)
    assert apply().gone == preview.counts == {"details": 1}
    first, second = AuditDetail.objects.order_by("pk")[:2]
    assert first.is_erased
    assert second.values["note"] == "secret"
    assert audit.verify().erased == 1
    [event] = AuditEvent.objects.filter(action__in=("log.emptied", "retention.applied"))
    assert (event.action, event.target) == ("log.emptied", "1")
    assert not apply().gone
    AuditDetail.objects.filter(pk=2).update(content="", salt="")
    with pytest.raises(Broken, match="detail of event 2 is empty"):
        audit.verify()


def test_a_round_records_its_deletions_in_the_audit_log(
    alice: User, saved_upstream: Upstream
) -> None:
    chat(alice, saved_upstream, "Old", 31)
    keep(conversation_days=30)
    apply()
    apply()
    [event] = AuditEvent.objects.filter(action="retention.applied")
    assert (event.actor, event.target) == (None, "")
    assert event.detail.values == {"conversations": 1, "messages": 2, "images": 2}


def test_a_round_is_bounded_and_the_next_one_continues(
    alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = chat(alice, saved_upstream, "Long", 31)
    Message.objects.bulk_create(
        Message(conversation=long.conversation, parent=long, role="user", content="More")
        for _ in range(ERASED_AT_ONCE)
    )
    chat(alice, saved_upstream, "Another", 31)
    monkeypatch.setattr(run, "MAX_STEPS", 2)
    preview = keep(conversation_days=30).preview()
    rounds = [apply() for _ in range(3)]
    assert [round.gone["conversations"] for round in rounds] == [0, 1, 1]
    assert sum((round.gone for round in rounds), Counter()) == preview.counts


def test_withdrawing_the_setting_stops_a_running_round(
    alice: User, saved_upstream: Upstream
) -> None:
    chat(alice, saved_upstream, "Old", 31)
    keep(conversation_days=30)
    round = RetentionRun()
    assert round.step()  # deletes its messages
    Retention().store()
    assert not round.step()
    assert titles() == {"Old"}


def test_a_conversation_used_at_the_last_moment_stays(
    alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody asks something in it after it was found due and before it is locked."""
    chat(alice, saved_upstream, "Old", 31)
    keep(conversation_days=30)
    locked = legal_holds.refuse_held

    def asked_meanwhile(*held: Any) -> None:
        Conversation.objects.update(updated_at=timezone.now())
        locked(*held)

    monkeypatch.setattr(run, "refuse_held", asked_meanwhile)
    apply()
    assert Message.objects.count() == 2


@pytest.mark.parametrize("seed", range(4))
def test_the_preview_counts_exactly_what_is_deleted(
    seed: int, alice: User, bob: User, olive: User, saved_upstream: Upstream, clock: Step
) -> None:
    """For all kinds of chats and periods."""
    dice = random.Random(seed)  # noqa: S311 - not for secrets
    for number in range(12):
        person = dice.choice([alice, bob])
        reply = chat(
            person,
            saved_upstream,
            f"{number}",
            dice.randint(0, 20) + 0.5,
            is_temporary=dice.random() < 0.2,
            is_pinned=dice.random() < 0.3,
            trashed_at=timezone.now() if dice.random() < 0.3 else None,
        )
        if dice.random() < 0.5:
            attach_file(reply.conversation.messages.get(role="user"), f"{number}.txt")
        if dice.random() < 0.3:
            draft = {"name": "draft", "size": 1, "conversation": reply.conversation}
            Attachment.objects.create(user=person, **draft)
        if dice.random() < 0.2:
            LegalHold.begin(person, reply.conversation.pk, "a matter", olive)
        if dice.random() < 0.2:
            Message.objects.filter(pk=reply.pk).update(ending="streaming")
        with transaction.atomic():
            audit.record("person.changed", actor=olive, about=person)
    if dice.random() < 0.5:
        LegalHold.begin(bob, None, "a matter", olive)
    clock(dice.randint(0, 2) * 86_400)
    days = [dice.choice([None, 3, 7, 14]), dice.choice([None, 3, 7, 14]), dice.choice([None, 1])]
    Retention(*days).store()
    preview = Retention.now().preview()
    assert apply().gone == preview.counts
    assert not Retention.now().preview().counts
    after = Retention.now().preview()
    assert after.conversations.held == preview.conversations.held
    assert after.images.held == preview.images.held
    assert after.files.held == preview.files.held
    assert after.details.held == preview.details.held
