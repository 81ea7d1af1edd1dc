"""Small exports, written by hand after the formats' descriptions."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile

from chatapp.transfer import Format, Skipped, SourceChat, SourceMessage, detect, read_chats

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
PNG_URL = "data:image/png;base64,iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
NOON = 1_760_000_000  # seconds, on 9 October 2025


def json_file(value: object) -> BinaryIO:
    return io.BytesIO(json.dumps(value).encode())


def build_zip(members: Mapping[str, object]) -> BinaryIO:
    """Return a ZIP; values that are not bytes become JSON."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            is_bytes = isinstance(content, bytes)
            archive.writestr(name, content if is_bytes else json.dumps(content))  # type: ignore[arg-type]
    return file


@dataclass
class Report:
    """The results of reading an export besides its chats."""

    readable: int
    skipped: list[Skipped]
    notes: list[str]

    @property
    def entry_count(self) -> int:
        return self.readable + len(self.skipped)

    @property
    def skipped_count(self) -> int:
        return len(self.skipped)


def read_entries(
    files: Sequence[BinaryIO], format: Format | None = None, names: Sequence[str] = ()
) -> tuple[list[SourceChat], Report]:
    notes: list[str] = []
    entries = list(read_chats(files, format or detect(files), names=names, note=notes.append))
    chats = [entry for entry in entries if isinstance(entry, SourceChat)]
    skipped = [entry for entry in entries if isinstance(entry, Skipped)]
    return chats, Report(len(chats), skipped, notes)


def read_all(*files: BinaryIO) -> tuple[list[SourceChat], Report]:
    return read_entries(files)


def only(*files: BinaryIO) -> SourceChat:
    chats, report = read_all(*files)
    assert len(chats) == 1, report
    return chats[0]


def read_skipped(*files: BinaryIO) -> Skipped:
    report = read_all(*files)[1]
    assert len(report.skipped) == 1
    return report.skipped[0]


def by_id(chat: SourceChat) -> dict[str, SourceMessage]:
    return {message.source_id: message for message in chat.messages}


def outline(chat: SourceChat) -> list[tuple[str, str | None, str]]:
    """Return each message's id, its parent's, and its text."""
    return [(message.source_id, message.parent, message.content) for message in chat.messages]


# ChatGPT


def gpt_message(role: str, content: object, **others: Any) -> dict[str, Any]:
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    metadata = others.pop("metadata", {"model_slug": "gpt-5"} if role == "assistant" else {})
    return {
        "author": {"role": role, "name": others.pop("name", None), "metadata": {}},
        "create_time": NOON + 0.5,
        "content": content,
        "status": "finished_successfully",
        "weight": 1.0,
        "recipient": "all",
        "metadata": metadata,
        **others,
    }


def gpt_chat(
    nodes: Sequence[tuple[str, str | None, dict[str, Any] | None]], **others: Any
) -> dict[str, Any]:
    """Return a chat of (id, parent, message); the last node is the current one."""
    mapping = {
        id: {
            "id": id,
            "parent": parent,
            "children": [child for child, above, _ in nodes if above == id],
            "message": message,
        }
        for id, parent, message in nodes
    }
    return {
        "id": "chat-1",
        "conversation_id": "chat-1",
        "title": "Bread",
        "create_time": NOON + 0.25,
        "update_time": NOON + 60,
        "mapping": mapping,
        "current_node": nodes[-1][0] if nodes else None,
        "is_archived": False,
        **others,
    }


def gpt_turn(**others: Any) -> dict[str, Any]:
    return gpt_chat(
        [
            ("root", None, None),
            ("u1", "root", gpt_message("user", "How long does dough rest?")),
            ("a1", "u1", gpt_message("assistant", "About an hour.")),
        ],
        **others,
    )


# Claude


def claude_chat(messages: Sequence[Mapping[str, Any]], **others: Any) -> dict[str, Any]:
    return {
        "uuid": "c-1",
        "name": "Kites",
        "created_at": "2025-10-09T08:53:20.123456Z",
        "updated_at": "2025-10-09T09:00:00Z",
        "account": {"uuid": "someone"},
        "chat_messages": [
            {"created_at": "2025-10-09T08:53:20Z", "attachments": [], "files": [], **claude_message}
            for claude_message in messages
        ],
        **others,
    }


def claude_turn(**others: Any) -> dict[str, Any]:
    text_block = {"type": "text", "text": "The wind lifts them.", "citations": []}
    prompt = {"uuid": "h1", "sender": "human", "text": "Why do kites fly?", "content": []}
    reply = {"uuid": "r1", "sender": "assistant", "text": "", "content": [text_block]}
    return claude_chat([prompt, reply], **others)


# Open WebUI


def webui_chat(messages: Mapping[str, Mapping[str, Any]], **others: Any) -> dict[str, Any]:
    """Return a row; each message gets its id and a time."""
    stored = {
        id: {"id": id, "timestamp": NOON + number, "childrenIds": [], **webui_message}
        for number, (id, webui_message) in enumerate(messages.items())
    }
    content = {
        "title": "Tea",
        "models": ["llama"],
        "params": others.pop("params", {}),
        "history": {"messages": stored, "currentId": others.pop("currentId", list(stored)[-1])},
        "messages": [],
        "timestamp": NOON * 1000,
    }
    return {
        "id": "w-1",
        "user_id": "me",
        "title": "Tea",
        "chat": content,
        "created_at": NOON,
        "updated_at": NOON + 60,
        "archived": False,
        "pinned": True,
        "meta": {"tags": []},
        "folder_id": None,
        **others,
    }


def webui_turn(**others: Any) -> dict[str, Any]:
    prompt = {"role": "user", "parentId": None, "content": "Green or black?"}
    reply = {"role": "assistant", "parentId": "u", "content": "Green.", "model": "llama"}
    return webui_chat({"u": prompt, "a": {**reply, "done": True}}, **others)


# LibreChat


def libre_message(id: str, parent: str, text: str, *, by_user: bool, **others: Any) -> Any:
    return {
        "messageId": id,
        "parentMessageId": parent,
        "conversationId": "l-1",
        "text": text,
        "sender": "User" if by_user else "GPT-5",
        "isCreatedByUser": by_user,
        "createdAt": "2025-10-09T08:53:20.000Z",
        "model": None if by_user else "gpt-5",
        "error": False,
        "unfinished": False,
        **others,
    }


def libre_chat(messages: object, **others: Any) -> dict[str, Any]:
    return {
        "conversationId": "l-1",
        "endpoint": "openAI",
        "title": "Snow",
        "exportAt": "10:00:00 GMT+0200",
        "branches": True,
        "recursive": False,
        "messages": messages,
        **others,
    }


# Our own


def own_chat(messages: Sequence[Mapping[str, Any]], **others: Any) -> dict[str, Any]:
    return {
        "id": "o-1",
        "title": "Stars",
        "created_at": "2025-10-09T08:53:20+00:00",
        "updated_at": "2025-10-09T09:00:00+00:00",
        "archived_at": None,
        "trashed_at": None,
        "is_pinned": False,
        "is_temporary": False,
        "project": None,
        "preset": None,
        "system_prompt": None,
        "parameters": None,
        "request_settings": [],
        "messages": messages,
        **others,
    }


def own_turn(**others: Any) -> dict[str, Any]:
    prompt = {"id": "p", "role": "user", "content": "How far is Vega?"}
    reply = {"id": "r", "parent": "p", "role": "assistant", "content": "25 light-years."}
    return own_chat([prompt, {**reply, "ending": "complete", "model": "m"}], **others)


def own_detailed() -> dict[str, Any]:
    """Return a chat with something in each field that only our own export has."""
    chat = own_turn(
        version=1,
        preset={"name": "P", "version": 2, "system_prompt": "Rhyme.", "parameters": {"seed": 1}},
        model_settings=[{"upstream": "U", "model": "m", "parameters": {"seed": None}}],
        request_settings=[{"id": "s", "instructions": "Be exact.", "parameters": {"seed": 1}}],
        left_out=[{"through": "r", "summary": "Short.", "upstream": "U", "model": "m"}],
    )
    flagged = {"flagged": True, "categories": ["c"], "scores": {"c": 1.0}}
    chat["messages"][0]["files"] = [{"id": "f", "name": "a.pdf", "pages": [2, 3], "size": 4}]
    chat["messages"][1] |= {
        "rounds": [
            {"content": "Hm.", "tool_calls": [{"id": "c", "name": "n"}]},
            {"content": "25."},
        ],
        "failed_models": [{"model": "x", "name": "X", "kind": "rate_limited", "status": 429}],
        "error": {"kind": "rate_limited", "message": "Slow down"},
        "moderation": {"input": {"model": "g", "results": [flagged]}, "output": {"code": "busy"}},
        "extras": {"source_count": 2, "left_out": {"video": 1}, "expired_images": 1},
        "usage": {"provenance": "reported", "prompt_tokens": 3, "total_tokens": 7},
        "images": [{"id": "r-0", "type": "image/png"}],
        "request_settings": "s",
    }
    return chat


def libre_turn(**others: Any) -> dict[str, Any]:
    root = "00000000-0000-0000-0000-000000000000"
    prompt = libre_message("q", root, "Is snow white?", by_user=True)
    reply = libre_message("w", "q", "It looks so.", by_user=False)
    return libre_chat([prompt, reply], **others)


# Grok


def grok_message(id: str, parent: str | None, sender: str, text: str, **others: Any) -> Any:
    at = {"$date": {"$numberLong": str(NOON * 1000)}}
    return {
        "response": {
            "_id": id,
            "conversation_id": "g-1",
            "message": text,
            "sender": sender,
            "create_time": at,
            "parent_response_id": parent,
            "metadata": {},
            **others,
        }
    }


def grok_chat(responses: Sequence[Any], **others: Any) -> dict[str, Any]:
    about = {
        "id": "g-1",
        "title": "Boats",
        "create_time": "2025-10-09T08:53:20Z",
        "modify_time": "2025-10-09T09:00:00Z",
        "starred": False,
    }
    return {"conversation": about | others, "responses": responses}


def grok_turn(**others: Any) -> dict[str, Any]:
    prompt = grok_message("g1", None, "human", "Do all boats float?")
    reply = grok_message("g2", "g1", "ASSISTANT", "Most do.", model="grok-4")
    return grok_chat([prompt, reply], **others)


# Gemini


def gemini_turn(**others: Any) -> dict[str, Any]:
    return {
        "header": "Gemini Apps",
        "title": "Prompted What is amber?",
        "time": "2025-10-09T08:53:20.123Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>Old <a href='https://a.example/'>resin</a>.</p>"}],
        **others,
    }


# llama.cpp


def llama_message(id: str, parent: str | None, role: str, text: str, **others: Any) -> Any:
    return {
        "id": id,
        "convId": "ll-1",
        "type": "text",
        "role": role,
        "content": text,
        "parent": parent,
        "children": [],
        "timestamp": NOON * 1000 + int(id),
        **others,
    }


def llama_chat(messages: Sequence[Any], **others: Any) -> dict[str, Any]:
    about = {"id": "ll-1", "name": "Local", "lastModified": NOON * 1000 + 500, "currNode": ""}
    root = llama_message("0", None, "system", "", type="root")
    return {"conv": about | others, "messages": [root, *messages]}


def llama_turn(**others: Any) -> dict[str, Any]:
    prompt = llama_message("1", "0", "user", "Are you there?")
    reply = llama_message("2", "1", "assistant", "Yes.", model="qwen")
    return llama_chat([prompt, reply], **others)


# Chatbox


def chatbox_message(id: str, role: str, text: str, **others: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"id": id, "role": role, "contentParts": parts, "timestamp": NOON * 1000, **others}


def chatbox_turn(**others: Any) -> dict[str, Any]:
    """Return a backup with one chat."""
    prompt = chatbox_message("b1", "user", "Is it raining?")
    reply = chatbox_message("b2", "assistant", "I can't see that.", model="m")
    session = {"id": "b-1", "name": "Rain", "messages": [prompt, reply], "starred": True}
    return {"session:b-1": session | others, "settings": {"apiKey": "secret"}}


TURNS: dict[Format, Callable[[], Any]] = {
    Format.CHATGPT: gpt_turn,
    Format.CLAUDE: claude_turn,
    Format.OPEN_WEBUI: webui_turn,
    Format.LIBRECHAT: libre_turn,
    Format.GROK: grok_turn,
    Format.GEMINI: gemini_turn,
    Format.LLAMA_CPP: llama_turn,
    Format.CHATBOX: chatbox_turn,
    Format.OWN: own_turn,
}
