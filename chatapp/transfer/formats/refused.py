"""Recognises exports that can't be read, to say which app they are from and what to do instead."""

import re
from collections.abc import Iterable

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
    "This is a chat as text, which doesn't say where its messages begin. Export it as JSON instead."
)
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
