"""The marks that ChatGPT leaves in a reply's text where its page shows a link or a name."""

import json
import re
from collections import Counter
from typing import Any

from chatapp.transfer.formats.parts import MAX_LINKS, link
from chatapp.transfer.values import as_list, count, line, mapping, text
from chatapp.upstream.wire.sources import Source

_MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201")
_TETHER = re.compile(r"【\d+(?::\d+)?†[^【】\n]{0,60}】")
_ENTITY = re.compile(
    r'\bentity\[("[a-z_]{1,40}","(?:[^"\\\n]|\\.){1,200}","(?:[^"\\\n]|\\.){0,300}")\]'
)
_SPANS = re.compile("[\ue203-\ue206]")  # around the words that are cited
_SEPARATOR = "\ue202"


def with_links(
    reply_text: str, metadata: dict[str, Any], left_out: Counter[str]
) -> tuple[str, list[Source]]:
    """Return the text with links and names in place of its marks, and the sources."""
    sources: list[Source] = []
    reply_text = _with_citations(reply_text, as_list(metadata.get("citations")), sources, left_out)
    links: dict[str, list[Source]] = {}  # by mark
    for reference in map(mapping, as_list(metadata.get("content_references"))[:MAX_LINKS]):
        found_sources = _read_sources(reference, left_out)
        sources += found_sources
        links.setdefault(text(reference.get("matched_text")).strip(), found_sources)
    return _with_marks(reply_text, links), sources


def _with_marks(reply_text: str, links: dict[str, list[Source]]) -> str:
    """Replace the marks by links; what nothing explains is removed, but for a name."""

    def render_match(match: re.Match[str]) -> str:
        return _render_mark(match.group(), links.get(match.group(), []))

    if not reply_text.isascii():
        reply_text = _SPANS.sub("", _MARK.sub(render_match, reply_text))
    if "†" in reply_text:
        reply_text = _TETHER.sub(render_match, reply_text)
    if "entity[" in reply_text:
        reply_text = _ENTITY.sub(lambda match: _name(match.group(1)) or match.group(), reply_text)
    return reply_text


def _with_citations(
    reply_text: str, citations: list[Any], sources: list[Source], left_out: Counter[str]
) -> str:
    """Replace ranges, from the last, in what exports before 2025 have."""
    ranges = []
    for citation in map(mapping, citations[:MAX_LINKS]):
        about = mapping(citation.get("metadata"))
        found_sources = link(about.get("url"), about.get("title"), left_out)
        sources += found_sources
        start, end = count(citation.get("start_ix")), count(citation.get("end_ix"))
        if found_sources and start is not None and end is not None:
            ranges.append((start, end, found_sources))
    for start, end, found_sources in sorted(ranges, key=lambda cited_range: -cited_range[0]):
        if _TETHER.fullmatch(reply_text, start, end):
            reply_text = reply_text[:start] + _render_mark("", found_sources) + reply_text[end:]
    return reply_text


def _read_sources(reference: dict[str, Any], left_out: Counter[str]) -> list[Source]:
    found_sources = link(reference.get("url"), reference.get("title"), left_out)
    for name in ("items", "sources", "fallback_items", "refs"):
        for item in map(mapping, as_list(reference.get(name))[:MAX_LINKS]):
            found_sources += link(item.get("url"), item.get("title"), left_out)
    return list({source.url: source for source in found_sources}.values())


def _render_mark(mark: str, sources: list[Source]) -> str:
    if sources:
        return "".join(
            f" ([{_label(source)}]({_destination(source.url)}))" for source in sources[:3]
        )
    kind, *fields = mark.strip("\ue200\ue201").split(_SEPARATOR)
    if kind == "entity" and fields:
        return _name(fields[0].strip().strip("[]"))
    if kind == "url" and len(fields) > 1:
        found_sources = link(fields[1], fields[0], Counter())
        return (
            f"[{_label(found_sources[0])}]({_destination(found_sources[0].url)})"
            if found_sources
            else line(fields[0])
        )
    return ""


def _label(source: Source) -> str:
    return re.sub(r"([\\\[\]`*_<])", r"\\\1", source.title or source.host)


def _destination(url: str) -> str:
    url = url.replace("<", "%3C").replace(">", "%3E")
    return f"<{url}>" if "(" in url or ")" in url else url


def _name(fields: str) -> str:
    """Return the second of an entity's fields, which are JSON: its kind, name and description."""
    try:
        entity_fields = json.loads(f"[{fields}]")
    except (ValueError, RecursionError):
        return ""
    return text(entity_fields[1]) if len(entity_fields) > 1 else ""
