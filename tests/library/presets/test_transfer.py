"""Bob can import what Alice exports, and a stranger's file does no harm."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from chatapp.models import Preset, ToolServer, Upstream, User
from chatapp.models.library.presets import MAX_PRESETS

pytestmark = pytest.mark.django_db


def import_presets(client: Client, content: Any) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    file = SimpleUploadedFile("presets.json", data, "application/json")
    answer = client.post("/presets/import/", {"file": file}, follow=True)
    assert answer.status_code == 200
    return str(answer.text).replace("&#39;", "'")


def contents(user: User) -> list[dict[str, Any]]:
    return [preset.content for preset in Preset.objects.owned_by(user)]


def test_an_export_is_imported_as_it_was(
    alices: Client, bobs: Client, alice: User, bob: User, preset: Preset
) -> None:
    upstream = Upstream.objects.create(
        name="Fake", base_url="http://127.0.0.1:9/v1", offered_models="one"
    )
    wiki = ToolServer.objects.create(name="wiki", url="http://127.0.0.1:9/mcp")
    preset.change(
        alice, 1, upstream_id=upstream.pk, model="one", tools=["clock", wiki.pk], icon="code"
    )
    answer = alices.get("/presets/export/")
    assert 'filename="presets-' in answer["content-disposition"]
    assert "1 preset was imported." in import_presets(bobs, json.loads(answer.content))
    assert contents(bob) == contents(alice)
    single_export = alices.get(f"/presets/{preset.pk}/export/")
    assert json.loads(single_export.content) == json.loads(answer.content)


def test_what_is_not_offered_here_is_left_to_the_person(alices: Client, alice: User) -> None:
    entry = {"name": "A", "model": "gpt", "upstream": "Elsewhere", "tools": ["maps", "clock"]}
    page = import_presets(alices, {"presets": [entry | {"icon": "skull"}]})
    assert "“A” has no model now" in page
    [content] = contents(alice)
    assert (content["model"], content["tools"], content["icon"]) == ("", ["clock"], "sliders")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\xff\xfe", b"nonsense", b"[" * 100_000, b'"text"'),
        *({"presets": {}}, {"format": "chatapp.prompts", "presets": [{"name": "A"}]}),
    ],
)
def test_a_file_of_something_else_is_refused(alices: Client, content: Any) -> None:
    page = import_presets(alices, content)
    assert "Choose an export of presets." in page or "Choose a file first." in page
    assert not Preset.objects.exists()


def test_presets_that_cannot_be_saved_are_left_out_and_named(alices: Client) -> None:
    entries = [
        *({"name": "Good", "suggestions": ["a\nb"], "description": "\0\ud800"}, {}, None, 7),
        {"name": "Long", "system_prompt": "x" * 20_001},
        {"name": "Hot", "parameters": {"temperature": 9}},
        {"name": "Bad", "parameters": {"extra": {"model": "x"}}},
        {"name": "Full", "suggestions": ["x"] * 7},
    ]
    page = import_presets(alices, {"presets": entries})
    assert "1 preset was imported." in page
    assert "“Long” was left out: A system prompt has at most 20,000 characters." in page
    assert "2 more could not be taken as they are." in page
    preset = Preset.objects.get()
    assert (preset.name, preset.suggestions) == ("Good", ["a b"])


def test_too_many_or_too_much_is_refused_as_a_whole(alices: Client) -> None:
    page = import_presets(alices, {"presets": [{"name": str(n)} for n in range(MAX_PRESETS + 1)]})
    assert "You can have 200 presets at most" in page
    assert "Nothing was imported." in page
    assert "Nothing was imported." in import_presets(alices, b" " * (1024 * 1024 + 1))
    assert not Preset.objects.exists()
