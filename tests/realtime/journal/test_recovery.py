"""The replies of a dead process are completed from its own journal files, and nothing else is."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import Settings

from chatapp.models import Message, ReplyImage
from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from chatapp.realtime.journal import complete_lost_replies
from chatapp.realtime.journal.records import Heading, encode_events, encode_record
from chatapp.realtime.journal.writing import installation
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.events import (
    AnswerDelta,
    AnswerWasReasoning,
    Failed,
    Finished,
    ImageReceived,
    ReasoningDelta,
    StreamDone,
    TokenUsage,
    ToolCallDelta,
    UsageReported,
)
from chatapp.upstream.wire.images import Image
from chatapp.upstream.wire.reply import Ending
from tests.realtime.journal.conftest import Writing
from tests.support.present import present
from tests.support.stored import apply_reply, build_reply, end

PNG_HEAD = b"\x89PNG\r\n\x1a\n"
CALL = ToolCallDelta(0, "call_0", "clock", "{}")


def test_a_reply_is_completed_with_all_text_that_arrived(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(ReasoningDelta("Hm. "))
    Message.objects.checkpoint([apply_reply(writing.message, build_reply("", "Hm. "))])
    writing.append_events(AnswerDelta("It "), AnswerDelta("is"))
    writing.die()
    [completed] = complete_lost_replies()
    message = writing.load_message()
    assert completed.conversation == message.conversation_id
    assert completed.user == message.conversation.user_id
    assert (message.reasoning, message.content) == ("Hm. ", "It is")
    assert message.ending == "interrupted"
    assert message.usage.provenance == "estimated"
    assert present(message.usage.upper_total_tokens) > present(message.usage.total_tokens) > 0
    assert message.usage_so_far is None
    assert not writing.folder.exists()
    assert complete_lost_replies() == []


def test_a_living_process_is_left_alone(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("It is"))
    assert complete_lost_replies() == []
    assert writing.load_message().is_streaming
    assert writing.file.exists()


def test_recovery_that_takes_too_long_goes_on_later(begin: Callable[[], Writing]) -> None:
    lost = [begin(), begin()]
    for reply in lost:
        reply.send_request()
        reply.append_events(AnswerDelta("It is"))
        reply.die()
    assert complete_lost_replies(within=-1) == []
    assert all(reply.load_message().is_streaming for reply in lost)
    assert len(complete_lost_replies()) == 2


def test_a_reply_that_ended_unsaved_is_complete(writing: Writing) -> None:
    reported = UsageReported(TokenUsage(3, 2, 5))
    writing.send_request()
    writing.append_events(AnswerDelta("It is."), Finished("stop"), reported, StreamDone())
    writing.die()
    complete_lost_replies()
    message = writing.load_message()
    assert (message.ending, message.finish_reason) == ("complete", "stop")
    assert (message.usage.provenance, message.usage.total_tokens) == ("reported", 5)


def test_rounds_tool_calls_and_retries_are_kept_and_counted(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(Failed(UpstreamError(ErrorKind.SERVER_ERROR, status=503)))
    writing.send_request()
    writing.append_events(CALL, Finished("tool_calls"), UsageReported(TokenUsage(10, 5, 15)))
    run = ToolRun("call_0", "clock", "{}", RunState.DONE, "noon")
    writing.segment.run(0, run)
    usage = {"provenance": "reported", "total_tokens": 15}
    writing.segment.end_round(Round(tool_runs=[run], usage=usage))
    writing.send_request()
    writing.append_events(CALL, Finished("tool_calls"), UsageReported(TokenUsage(20, 5, 25)))
    writing.segment.run(0, ToolRun("call_0", "clock", "{}", RunState.RUNNING))
    writing.die()
    complete_lost_replies()
    message = writing.load_message()
    assert [len(round.tool_runs) for round in message.rounds] == [1, 1]
    assert message.rounds[0].tool_runs[0].result == "noon"
    assert message.rounds[1].tool_runs[0].state == "cancelled"
    assert message.ending == "interrupted"
    assert (message.usage.provenance, message.usage.total_tokens) == ("reported", 40)


def test_every_choice_is_kept_once_and_counted(writing: Writing) -> None:
    writing.send_request(choices=3)
    for choice in range(3):
        writing.append_events(AnswerDelta("x" * 400, choice=choice))
    writing.append_events(Finished("stop", choice=1))
    writing.die()
    complete_lost_replies()
    others = Message.objects.filter(choice__gt=0).order_by("choice")
    assert [other.ending for other in others] == ["complete", "interrupted"]
    assert present(writing.load_message().usage.completion_tokens) >= 300
    # The process was only presumed dead, and saves what it has.
    message, reply = writing.message, build_reply("x" * 400)
    end(message, reply, others=(message.other_choice(build_reply("y"), Ending.COMPLETE),))
    assert Message.objects.filter(choice__gt=0).count() == 2


def test_images_are_kept_like_text(writing: Writing) -> None:
    picture = Image("image/png", PNG_HEAD + bytes(range(256)) * 4096)  # one mebibyte
    writing.send_request()
    writing.append_events(AnswerDelta("Here it is: "), ImageReceived(picture))
    writing.die()
    complete_lost_replies()
    message = writing.load_message()
    assert (message.content, message.extras.image_count) == ("Here it is: ", 1)
    [image] = ReplyImage.objects.filter(message=message)
    assert (image.media_type, image.read()) == (picture.media_type, picture.data)


def test_an_answer_that_turned_out_to_be_reasoning_is_kept_as_such(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("Let me see."), AnswerWasReasoning(), AnswerDelta("Yes."))
    writing.die()
    complete_lost_replies()
    message = writing.load_message()
    assert (message.reasoning, message.content) == ("Let me see.", "Yes.")


# Changes made meanwhile


def test_a_reply_interrupted_by_another_host_is_extended(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("It is"))
    Message.objects.filter(pk=writing.message.pk).interrupt()
    assert writing.load_message().usage.completion_tokens == 0
    writing.die()
    complete_lost_replies()
    message = writing.load_message()
    assert (message.content, message.ending) == ("It is", "interrupted")
    assert present(message.usage.completion_tokens) > 0


def test_no_reply_is_made_shorter(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("It"))
    Message.objects.checkpoint([apply_reply(writing.message, build_reply("It is so."))])
    writing.die()
    assert complete_lost_replies() == []
    assert writing.load_message().content == "It is so."
    assert Message.objects.interrupt_orphans() == 1


def test_a_reply_saved_by_its_process_is_left_alone(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("It is, and more"))
    end(writing.message, build_reply("It is."))
    writing.die()
    assert complete_lost_replies() == []
    assert writing.load_message().content == "It is."
    assert not writing.folder.exists()


def test_a_reply_that_was_continued_from_keeps_its_text_and_is_charged(
    writing: Writing,
) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("x" * 400))
    Message.objects.filter(pk=writing.message.pk).interrupt()
    message = writing.load_message()
    message.conversation.ask(
        uuid4(), "Continue where you stopped.", message.pk, present(message.upstream), "m", uuid4()
    )
    writing.die()
    assert complete_lost_replies() == []
    assert writing.load_message().content == ""
    assert present(writing.load_message().usage.completion_tokens) >= 100


def test_the_file_of_a_deleted_reply_is_removed(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("It is"))
    writing.message.conversation.delete()
    writing.die()
    assert complete_lost_replies() == []
    assert not writing.folder.exists()


# Untrusted files


def test_a_torn_last_line_is_ignored(writing: Writing) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("It is"))
    with writing.file.open("ab") as file:
        file.write(encode_events([AnswerDelta(" torn")])[:-5])
    writing.die()
    complete_lost_replies()
    assert writing.load_message().content == "It is"


@pytest.mark.parametrize("left", [b"", b"\0" * 4096, b'["reply", "torn'])
def test_a_file_damaged_by_a_host_crash_is_removed(writing: Writing, left: bytes) -> None:
    (writing.folder / writing.message.pk.hex).write_bytes(left)
    writing.die()
    assert complete_lost_replies() == []
    assert not writing.folder.exists()
    assert Message.objects.interrupt_orphans() == 1


def test_a_file_of_another_installation_is_neither_used_nor_removed(
    writing: Writing, settings: Settings
) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta("It is"))
    writing.die()
    settings.SECRET_KEY = "another"
    assert complete_lost_replies() == []
    assert writing.load_message().is_streaming
    assert writing.file.exists()


@pytest.mark.parametrize("claims_to_be_theirs", [True, False])
def test_a_file_in_the_wrong_place_completes_nothing(
    begin: Callable[[], Writing], claims_to_be_theirs: bool
) -> None:
    mine, theirs = begin(), begin()
    process = (theirs if claims_to_be_theirs else mine).journal.process
    forged = encode_record(Heading(installation(), process, theirs.message.pk))
    forged += encode_events([AnswerDelta("forged")])
    (mine.folder / theirs.message.pk.hex).write_bytes(forged)
    (mine.folder / uuid4().hex).write_bytes(forged)
    mine.die()
    complete_lost_replies()
    assert theirs.load_message().content == ""


def test_links_folders_and_strange_names_are_ignored(writing: Writing, tmp_path: Path) -> None:
    writing.append_events(AnswerDelta("It is"))
    secret = tmp_path / "secret"
    secret.write_bytes(writing.file.read_bytes() + encode_events([AnswerDelta("secret")]))
    writing.file.unlink()
    (writing.folder / writing.message.pk.hex).symlink_to(secret)
    (writing.folder / uuid4().hex).mkdir()
    (writing.folder / "notes.txt").write_text("not ours")
    (writing.folder.parent / uuid4().hex).symlink_to(tmp_path)
    (writing.folder.parent / "readme").write_text("not ours")
    writing.die()
    assert complete_lost_replies() == []
    assert writing.load_message().content == ""
    assert secret.exists()
    assert (writing.folder / "notes.txt").exists()


@pytest.mark.parametrize("text", ["\0", "\0" * 100])
def test_text_that_no_database_can_store_is_given_up(writing: Writing, text: str) -> None:
    writing.send_request()
    writing.append_events(AnswerDelta(text))
    writing.die()
    complete_lost_replies()
    assert not writing.folder.exists()
    assert not writing.load_message().is_streaming or Message.objects.interrupt_orphans() == 1
