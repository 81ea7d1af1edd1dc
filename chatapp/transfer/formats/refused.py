"""Recognises exports that can't be read, to say which app they are from and what to do instead."""

import re
from collections.abc import Iterable
from typing import Any

from chatapp.transfer.values import as_list, mapping

HEAD_BYTES = 64 * 1024  # of a text by which it is recognised
CHATBOX_TEXT = (
    "This is a chat that Chatbox exported as text, which can't be imported. Export a backup as JSON"
    " in Chatbox instead: Settings, Data Backup."
)
GEMINI_PAGE = (
    "This is Gemini's activity as a web page. Choose JSON as the format of My Activity in Google"
    " Takeout, and import that."
)
CHATGPT_PAGE = (
    "This is the page of ChatGPT's export. Import the ZIP as you got it, or the conversations.json"
    " in it."
)
MARKDOWN = (
    "This is text, which doesn't say where the messages of a chat begin. Export the chat as JSON"
    " instead."
)
OTHER_APP = "This is an export of {}, which can't be imported."
# The keys by which the JSON of apps is recognised.
_KEYS = (
    ("Google AI Studio", {"chunkedPrompt"}),
    ("TypingMind", {"checksum", "data"}),
    ("Cherry Studio", {"localStorage", "indexedDB"}),
    ("Mistral's Le Chat", {"chatId", "contentChunks"}),
    ("AnythingLLM", {"prompt", "response", "sent_at"}),
    ("SillyTavern", {"user_name", "character_name"}),
)
MAX_LOOKED_AT = 20  # messages of a chat
_CHATBOX = re.compile(r"^\*\*(?:USER|ASSISTANT|SYSTEM)\*\*:?\s*$", re.MULTILINE)
_TITLE = re.compile(r"\A\s*#{1,3} \S")
_PAGE = re.compile(r"\A\s*(?:<!doctype html|<html)", re.IGNORECASE)
_GEMINI = re.compile(r"gemini|bard", re.IGNORECASE)


def refusal_of_text(head: str) -> str:
    """Return what to say about a text that begins like this; "" if it isn't known."""
    if _PAGE.match(head):
        is_chatgpt = "ChatGPT Data Export" in head or "jsonData" in head
        is_gemini = "My Activity" in head or _GEMINI.search(head)
        return CHATGPT_PAGE if is_chatgpt else GEMINI_PAGE if is_gemini else ""
    if _CHATBOX.search(head):
        return CHATBOX_TEXT
    return MARKDOWN if _TITLE.match(head) else ""


def refusal_of_members(names: Iterable[str]) -> str:
    """Return what to say about a ZIP with these members."""
    pages = [name for name in names if name.lower().endswith(".html")]
    if any(_GEMINI.search(name) for name in pages):
        return GEMINI_PAGE
    return ""


def refusal_of_value(value: dict[str, Any]) -> str:
    """Return what to say about JSON of an app that is known but not read; "" if it isn't known."""
    app = next((app for app, keys in _KEYS if keys <= value.keys()), "")
    if _is_deep_seek(value):
        app = "DeepSeek"
    elif any(
        "versions" in mapping(message) for message in as_list(value.get("messages"))[:MAX_LOOKED_AT]
    ):
        app = "LM Studio"
    return OTHER_APP.format(app) if app else ""


def _is_deep_seek(value: dict[str, Any]) -> bool:
    """Whether it has ChatGPT's tree of nodes, but messages of another form."""
    nodes = list(mapping(value.get("mapping")).values())[:MAX_LOOKED_AT]
    return any("fragments" in mapping(mapping(node).get("message")) for node in nodes)
