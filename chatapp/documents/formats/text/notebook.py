"""Jupyter notebooks: their cells and outputs as Markdown, with the pictures in their places.

See the description of the format, nbformat 4.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.results import Document, Limits

from . import html

KIND, MEDIA_TYPE = "Notebook", "text/markdown"
COLOURS = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")  # and other codes for terminals
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
MAX_KINDS_LENGTH = 200


class Notebook(msgspec.Struct):
    nbformat: int
    cells: list[dict[str, Any]]
    metadata: dict[str, Any] = {}


def parse(text: str) -> Notebook | None:
    """Return the notebook, or None if the text is another one."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{") or '"nbformat"' not in text:
        return None
    try:
        return msgspec.json.decode(text, type=Notebook)
    except (msgspec.MsgspecError, RecursionError):
        return None


def read(notebook: Notebook, limits: Limits) -> Document:
    pages = IllustratedPages(limits)
    language = notebook.metadata.get("language_info", {})
    name = language.get("name", "") if isinstance(language, Mapping) else ""
    texts = (_cell(cell, str(name), pages) for cell in notebook.cells)
    pages.add("\n\n".join(text for text in texts if text))
    return Document(MEDIA_TYPE, KIND, "", pages.whole(KIND), pages.pictures, pages.left_out)


def _cell(cell: Mapping[str, Any], language: str, pages: IllustratedPages) -> str:
    source = _join_lines(cell.get("source")).strip("\n")
    if cell.get("cell_type") != "code":
        return _with_attachments(source, cell.get("attachments"), pages)
    code = f"```{language}\n{source}\n```" if source else ""
    outputs = cell.get("outputs")
    texts = [code, *_outputs(outputs if isinstance(outputs, list) else [], pages)]
    return "\n\n".join(text for text in texts if text)


def _with_attachments(source: str, attachments: object, pages: IllustratedPages) -> str:
    """Put the pictures of a cell of text behind it."""
    if not isinstance(attachments, Mapping):
        return source
    texts = [source]
    for name, content in attachments.items():
        texts.append(_picture(content, str(name), pages))
    return "\n\n".join(text for text in texts if text)


def _outputs(outputs: Sequence[object], pages: IllustratedPages) -> Iterator[str]:
    for output in outputs:
        if isinstance(output, Mapping) and (text := _output(output, pages).strip("\n")):
            yield f"Output:\n\n{text}"


def _output(output: Mapping[str, Any], pages: IllustratedPages) -> str:
    if output.get("output_type") == "stream":
        return _fence_text(_join_lines(output.get("text")))
    if output.get("output_type") == "error":
        return _fence_text(_error(output))
    data = output.get("data")
    if not isinstance(data, Mapping):
        return ""
    if picture := _picture(data, "", pages):
        return picture
    if markdown := _join_lines(data.get("text/markdown")) or _join_lines(data.get("text/latex")):
        return markdown
    page = _join_lines(data.get("text/html"))
    if page and (text := html.to_markdown(page, pages)):
        return text
    if text := _fence_text(_join_lines(data.get("text/plain"))):
        return text
    kinds = ", ".join(map(str, data))[:MAX_KINDS_LENGTH]
    return f"[Output of type {kinds} is left out]" if kinds else ""


def _error(output: Mapping[str, Any]) -> str:
    lines = output.get("traceback")
    if isinstance(lines, list) and lines:
        return "\n".join(map(str, lines))
    return f"{output.get('ename', '')}: {output.get('evalue', '')}"


def _picture(data: object, name: str, pages: IllustratedPages) -> str:
    if not isinstance(data, Mapping):
        return ""
    for media_type in PICTURES:
        if encoded := _join_lines(data.get(media_type)):
            try:
                return pages.picture(base64.b64decode(encoded), name)
            except binascii.Error:
                return pages.picture(b"", name)
    return ""


def _fence_text(text: str) -> str:
    text = COLOURS.sub("", text)
    return f"```\n{text.strip(chr(10))}\n```" if text.strip() else ""


def _join_lines(value: object) -> str:
    """Return a text that a notebook has as lines, or as a whole."""
    return (
        "".join(map(str, value))
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else ""
    )
