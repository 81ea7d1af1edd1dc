"""Prompts leave and arrive as JSON files: our own, and Open WebUI's."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from chatapp.library.formats import Unreadable
from chatapp.library.prompts.formats import prompts_in
from chatapp.library.prompts.kind import PROMPTS
from chatapp.models import PromptVersion, SavedPrompt, User

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def import_prompts(client: Client, data: object) -> str:
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    file = SimpleUploadedFile("prompts.json", content)
    return client.post("/prompts/import/", {"file": file}, follow=True).text


@pytest.mark.django_db
def test_an_export_can_be_imported_by_somebody_else(
    alices: Client, bobs: Client, alice: User, bob: User
) -> None:
    SavedPrompt.start(alice, title="Ünï", command="uni", text="{{a}}\nb")
    SavedPrompt.start(alice, title="Deleted", text="b").discard()
    SavedPrompt.start(bob, title="Other", command="uni", text="c")
    answer = alices.get("/prompts/export/")
    assert answer["content-disposition"].startswith('attachment; filename="prompts-')
    assert "1 prompt was imported." in import_prompts(bobs, answer.content)
    made = SavedPrompt.objects.owned_by(bob).get(title="Ünï")
    assert (made.command, made.text, made.version) == ("uni-2", "{{a}}\nb", 1)
    assert PromptVersion.objects.get(target=made).author == bob
    assert "1 prompt was there already." in import_prompts(bobs, answer.content)


@pytest.mark.parametrize(
    "entry",
    [
        {
            "command": "/summarise",
            "user_id": "5c1f",
            "title": "Summarise",
            "content": "Do {{x | textarea}}",
            "timestamp": 1_700_000_000,
            "access_control": {},
            "user": {"name": "A"},
        },
        {
            "id": "9",
            "command": "Summarise",
            "name": "Summarise",
            "content": "Do {{x | textarea}}",
            "data": {},
            "meta": {"description": "d"},
            "tags": ["t"],
            "is_active": True,
            "access_grants": [],
        },
    ],
)
def test_old_and_new_exports_of_open_webui_are_read(entry: dict[str, Any]) -> None:
    assert prompts_in(json.dumps([entry]).encode()) == (
        [{"title": "Summarise", "command": "summarise", "text": "Do {{x | textarea}}"}],
        [],
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        *(
            (file_data, "isn't JSON")
            for file_data in (b"", b"{", b"\xff\xfe", b"[" * 10**6, b"1" * 5000)
        ),
        *((content, "has no list") for content in (b"1", b"{}", b'"x"', b'{"format": "other"}')),
    ],
)
def test_other_files_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(Unreadable, match=problem):
        prompts_in(data)


def test_what_is_too_long_or_empty_is_left_out_and_named() -> None:
    entries = [
        {"title": "x" * 2**20, "text": "a"},
        {"title": "Long", "text": "a" * 20_001},
        {"title": "Empty", "text": "\u200b"},
        {"text": "a"},
        7,
        {"title": "Good", "command": "not a command", "text": "a"},
    ]
    contents, problems = prompts_in(json.dumps(entries).encode())
    assert contents == [{"title": "Good", "command": "", "text": "a"}]
    assert problems == [
        f"“{'x' * 40}” has a title of more than 80 characters",
        "“Long” has more than 20,000 characters",
        "“Empty” has no text",
        "“number 4” has no title",
        "“number 5” has no title",
    ]


@pytest.mark.django_db
def test_the_page_tells_what_was_left_out(alices: Client) -> None:
    entries = [{"title": "A", "text": "a"}, *({"title": f"B{n}", "text": ""} for n in range(7))]
    page = import_prompts(alices, entries)
    assert "1 prompt was imported. 7 prompts were left out: “B0” has no text;" in page
    assert "; and others." in page


@pytest.mark.django_db
def test_a_refused_file_imports_nothing(alices: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "The limit is 5.0" in import_prompts(alices, b" " * (PROMPTS.max_file_bytes + 1))
    assert "Nothing was imported." in import_prompts(alices, b"no")
    assert "Choose a file first." in alices.post("/prompts/import/").text
    monkeypatch.setattr("chatapp.library.prompts.kind.Prompts.max_owned", 1)
    page = import_prompts(alices, [{"title": "A", "text": "a"}, {"title": "B", "text": "b"}])
    assert "You can have 1 prompts at most" in page
    assert not SavedPrompt.objects.exists()


@given(JSON)
def test_any_json_is_read_or_refused(data: object) -> None:
    try:
        contents, _ = prompts_in(json.dumps(data).encode())
    except Unreadable:
        return
    for content in contents:
        assert len(content["title"]) <= 80
        assert "\0" not in json.dumps(content, ensure_ascii=False).encode().decode()
