"""Gemini's activity from Google Takeout."""

from datetime import UTC, datetime

import pytest

from chatapp.transfer import read_chunks
from chatapp.transfer.formats.gemini import NO_PROMPT, SINGLE_PROMPTS
from tests.transfer.samples import (
    build_zip,
    gemini_turn,
    json_file,
    only,
    outline,
    read_all,
    read_skipped,
)

FOLDER = "Takeout/My Activity"


def test_a_prompt_and_its_reply_are_a_chat() -> None:
    chats, report = read_all(json_file([gemini_turn()]))
    chat = chats[0]
    assert outline(chat) == [
        ("prompt", None, "What is amber?"),
        ("reply", "prompt", "Old [resin](https://a.example/)."),
    ]
    assert (chat.source, chat.title) == ("gemini", "What is amber?")
    assert chat.created_at == chat.updated_at == datetime(2025, 10, 9, 8, 53, 20, 123000, UTC)
    assert report.notes == [SINGLE_PROMPTS]


@pytest.mark.parametrize(
    ("title", "prompt"),
    [
        ("Asked Bard: Why?", "Why?"),
        ("Prompted Read this Attached 2 files.", "Read this"),
        ("Eingegeben: Warum?", "Eingegeben: Warum?"),
        ("Used cars in Berlin under 5000", "Used cars in Berlin under 5000"),
        ("Read thisAttached 1 file", "Read this"),
    ],
)
def test_the_words_around_a_prompt_are_removed(title: str, prompt: str) -> None:
    assert only(json_file([gemini_turn(title=title)])).messages[0].content == prompt


def test_a_prompt_without_a_reply_is_read() -> None:
    assert len(only(json_file([gemini_turn(safeHtmlItem=[])])).messages) == 1


def test_other_activities_are_named() -> None:
    activity = gemini_turn(title="Used an Assistant feature", safeHtmlItem=[])
    skipped_activity = read_skipped(json_file([gemini_turn(), activity]))
    assert (skipped_activity.reason, skipped_activity.label) == (
        NO_PROMPT,
        "Used an Assistant feature (entry 2)",
    )


def test_only_the_activity_of_gemini_is_read_from_a_takeout() -> None:
    search = {**gemini_turn(), "header": "Search", "products": ["Search"]}
    many = {f"Takeout/A/{number}.json": [1] for number in range(30)}
    members = {
        **many,
        f"{FOLDER}/Gemini Apps/MyActivity.json": [gemini_turn(imageFile="rock.png")],
        f"{FOLDER}/Gemini Apps/rock.png": b"rock",
        f"{FOLDER}/Search/MyActivity.json": [search],
    }
    chats, report = read_all(build_zip(members))
    assert len(chats) == 1
    assert b"".join(read_chunks(chats[0].messages[0].files[0])) == b"rock"
    assert report.notes[1].endswith(" and 21 more.")


def test_prompts_at_different_times_are_different_chats() -> None:
    twice = [gemini_turn(), gemini_turn(time="2025-10-10T08:00:00Z"), gemini_turn()]
    chats, _ = read_all(json_file(twice))
    assert len({chat.source_id for chat in chats}) == 2
