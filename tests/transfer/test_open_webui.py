"""Open WebUI's JSON."""

from datetime import UTC, datetime
from typing import Any

import pytest

from chatapp.transfer import SourceFeedback, read_chunks
from chatapp.transfer.formats.open_webui import NO_PARENT
from chatapp.transfer.formats.parts import DAMAGED_MESSAGE, NO_ROLE
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source
from tests.transfer.samples import (
    NOON,
    PNG,
    PNG_URL,
    json_file,
    only,
    outline,
    read_skipped,
    webui_chat,
    webui_turn,
)

PROMPT = {"role": "user", "parentId": None, "content": "Hi"}


def read_reply(**fields: Any) -> Any:
    reply = {"role": "assistant", "parentId": "u", "content": "", "model": "llama", **fields}
    chat = only(json_file([webui_chat({"u": PROMPT, "a": reply})]))
    assert len(chat.messages) == 2
    return chat.messages[1]


def test_a_chat_with_its_fields() -> None:
    params = {
        "system": "Be brief.",
        "temperature": 0.5,
        "max_tokens": 100,
        "top_k": 20,
        "stream_response": True,
        "mirostat": 1,
    }
    chat = only(json_file([webui_turn(params=params, archived=True, folder_id="f")]))
    assert outline(chat) == [("u", None, "Green or black?"), ("a", "u", "Green.")]
    assert (chat.source, chat.source_id, chat.title) == ("open_webui", "w-1", "Tea")
    assert (chat.created_at, chat.updated_at) == (
        datetime.fromtimestamp(NOON, UTC),
        datetime.fromtimestamp(NOON + 60, UTC),
    )
    assert (chat.is_archived, chat.is_pinned, chat.folder_id, chat.owner) == (True, True, "f", "me")
    assert chat.system_prompt == "Be brief."
    assert chat.parameters == {
        "temperature": 0.5,
        "max_output_tokens": 100,
        "extra": {"top_k": 20},
    }
    assert chat.left_out == {"parameter": 1}
    assert (chat.messages[1].model, chat.messages[1].ending) == ("llama", Ending.COMPLETE)


def test_one_chat_and_the_bare_chat_are_read() -> None:
    assert only(json_file(webui_turn())).source_id == "w-1"
    bare = only(json_file(webui_turn()["chat"]))
    assert (bare.title, bare.created_at) == ("Tea", datetime.fromtimestamp(NOON, UTC))


def test_without_a_history_the_flat_list_is_read_in_order() -> None:
    flat = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    chat = only(json_file([{"id": "w", "chat": {"models": [], "messages": [*flat, *flat]}}]))
    assert [message.content for message in chat.messages] == ["one", "two", "one", "two"]
    assert chat.active_leaf == chat.messages[-1].source_id


def test_siblings_of_several_models_and_their_merged_reply() -> None:
    prompt = {**PROMPT, "models": ["x", "y"], "merged": {"status": True, "content": "Both."}}
    replies = {
        name: {"role": "assistant", "parentId": "u", "content": name, "model": name}
        for name in ("x", "y")
    }
    chat = only(json_file([webui_chat({"u": prompt, **replies})]))
    assert outline(chat) == [
        ("u", None, "Hi"),
        ("u:merged", "u", "Both."),
        ("x", "u", "x"),
        ("y", "u", "y"),
    ]


def test_a_reply_without_a_parent_follows_the_prompt_before_it() -> None:
    messages: dict[str, dict[str, Any]] = {
        "u1": {**PROMPT, "content": "1"},
        "u2": {**PROMPT, "parentId": "a1", "content": "2"},
        "a1": {"role": "assistant", "content": "one", "timestamp": NOON + 0.5},
        "a2": {"model": "llama", "parentId": "lost", "content": "two"},
    }
    chat = only(json_file([webui_chat(messages, currentId="gone")]))
    assert outline(chat) == [
        ("u1", None, "1"),
        ("a1", "u1", "one"),
        ("u2", "a1", "2"),
        ("a2", "u2", "two"),
    ]
    assert chat.active_leaf == "a2"
    assert len(chat.notes) == 1
    assert [damage.reason for damage in chat.damaged] == [NO_PARENT]


def test_the_newer_output_is_preferred() -> None:
    output = [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "duration": 2.5,
        },
        {"type": "function_call", "call_id": "1", "name": "clock", "arguments": '{"zone": "UTC"}'},
        {
            "type": "function_call_output",
            "call_id": "1",
            "output": [{"type": "input_text", "text": "12:00"}],
        },
        {"type": "open_webui:code_interpreter", "code": "1+1", "output": "2"},
        {"type": "message", "content": [{"type": "output_text", "text": "Noon."}]},
    ]
    rendered = '<details type="reasoning" done="true">\n&gt; Hm.\n</details>\nNoon.'
    reply = read_reply(output=output, content=rendered)
    assert (reply.reasoning, reply.content, reply.reasoning_seconds) == ("Hm.", "Noon.", 2.5)
    assert [(run.name, run.arguments, run.result) for run in reply.tool_runs] == [
        ("clock", '{"zone": "UTC"}', "12:00"),
        ("code_interpreter", "1+1", "2"),
    ]


def test_an_output_without_text_leaves_the_text_of_the_content() -> None:
    content = '<details type="reasoning">\n<summary>x</summary>\n&gt; Hm.\n</details>\nNoon.'
    reply = read_reply(output=[{"type": "reasoning", "content": "Hm."}], content=content)
    assert (reply.reasoning, reply.content) == ("Hm.", "Noon.")


def test_blocks_inside_the_text_become_reasoning_and_tool_calls() -> None:
    content = (
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds'
        "</summary>\n&gt; Is a &lt; b?\n&gt; \n&gt; Yes.\n</details>\nFirst I look.\n\n"
        '<details type="tool_calls" done="true" id="c1" name="look"'
        ' arguments="&quot;{\\&quot;x\\&quot;: 1}&quot;" result="&quot;a &lt; b&quot;" files="">\n'
        "<summary>Tool Executed</summary>\n</details>\n"
        "<details type='tool_calls' done='true' id='c2' name='find' arguments='{\"y\": \"a>b\"}'>\n"
        "<summary>Tool Executed</summary>\n&quot;found&quot;\n</details>\n"
        '<details type="code_interpreter" done="true" output="{&quot;out&quot;: &quot;2&quot;}">\n'
        "<summary>Analyzed</summary>\n```python\n1+1\n```\n</details>\n"
        "<details>\n<summary>Mine</summary>\nkept\n</details>"
    )
    reply = read_reply(content=content)
    assert (reply.reasoning, reply.reasoning_seconds) == ("Is a < b?\n\nYes.", 3)
    assert [(run.id, run.name, run.arguments, run.result) for run in reply.tool_runs[:2]] == [
        ("c1", "look", '{"x": 1}', "a < b"),
        ("c2", "find", '{"y": "a>b"}', "found"),
    ]
    assert reply.tool_runs[2].arguments == "```python\n1+1\n```"
    assert reply.tool_runs[2].result == "2"
    assert reply.content == (
        "First I look.\n\n<details>\n<summary>Mine</summary>\nkept\n</details>"
    )


def test_blocks_may_follow_each_other_on_one_line() -> None:
    thought = '<details type="reasoning"><summary>Thought</summary>&gt; {}</details>'
    reply = read_reply(content=thought.format("One.") + thought.format("Two.") + "255")
    assert (reply.reasoning, reply.content) == ("One.\n\nTwo.", "255")


def test_a_block_that_is_not_closed_stays_text() -> None:
    content = 'Hi\n<details type="reasoning" done="false">\n&gt; x'
    assert read_reply(content=content).content == content


@pytest.mark.parametrize(
    ("fields", "ending", "error"),
    [
        ({"content": "x", "error": {"content": "No model"}}, Ending.FAILED, "No model"),
        ({"content": "x", "error": "Down"}, Ending.FAILED, "Down"),
        ({"content": "x", "done": False}, Ending.INTERRUPTED, ""),
        ({"done": True}, Ending.NO_ANSWER, ""),
    ],
)
def test_endings(fields: dict[str, Any], ending: Ending, error: str) -> None:
    reply = read_reply(**fields)
    assert (reply.ending, reply.error) == (ending, error)


def test_ratings_and_sources() -> None:
    sources = [
        {
            "source": {"name": "Tea", "url": "https://tea.example/"},
            "document": ["x"],
            "metadata": [],
        },
        {
            "source": {"name": "web"},
            "metadata": [{"source": "https://b.example/"}, {"source": "f"}],
        },
    ]
    reply = read_reply(content="x", annotation={"rating": 1, "comment": "good"}, sources=sources)
    assert reply.feedback == SourceFeedback("up", "good")
    searched_pages = {"type": "web_search", "name": "tea", "urls": ["https://c.example/", 5]}
    searched = read_reply(content="x", files=[searched_pages])
    assert (searched.files, searched.sources) == ((), (Source("https://c.example/"),))
    assert reply.sources == (
        Source("https://tea.example/", "Tea"),
        Source("https://b.example/", "web"),
    )


def test_files_inside_the_json_can_be_opened() -> None:
    files = [
        {"type": "image", "url": PNG_URL},
        {"type": "image", "url": "/api/v1/files/7/content", "name": "x.png"},
        {"type": "file", "name": "n.md", "file": {"filename": "n", "data": {"content": "# N"}}},
    ]
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": PNG_URL}}]
    chat = only(json_file([webui_chat({"u": {**PROMPT, "content": parts, "files": files}})]))
    prompt = chat.messages[0]
    image, stored, note = prompt.files  # an image that is there twice counts once
    assert prompt.content == "Look"
    assert b"".join(read_chunks(image)) == PNG
    assert image.media_type == "image/png"
    assert stored.missing == "Open WebUI's export does not contain this file."
    assert (note.name, b"".join(read_chunks(note))) == ("n.md", b"# N")


def test_a_system_message_becomes_the_system_prompt() -> None:
    system = {"role": "system", "parentId": None, "content": "Be kind."}
    chat = only(json_file([webui_chat({"s": system, "u": {**PROMPT, "parentId": "s"}})]))
    assert chat.system_prompt == "Be kind."
    assert outline(chat) == [("u", None, "Hi")]


@pytest.mark.parametrize("others", [{"user_id": "shared-w-1"}, {"meta": {"internal": True}}])
def test_chats_that_open_webui_keeps_for_itself_are_skipped(others: dict[str, Any]) -> None:
    assert "Open WebUI" in read_skipped(json_file([webui_turn(**others)])).reason


def test_damaged_messages_are_named() -> None:
    chat = webui_turn()
    chat["chat"]["history"]["messages"] |= {"x": None, "y": {"content": "?"}, "z": [1]}
    source_chat = only(json_file([chat]))
    assert len(source_chat.messages) == 2
    assert [(damage.reason, damage.place) for damage in source_chat.damaged] == [
        (DAMAGED_MESSAGE, "message x"),
        (NO_ROLE, "message y"),
        (DAMAGED_MESSAGE, "message z"),
    ]
