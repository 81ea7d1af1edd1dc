"""The marks that ChatGPT leaves in a reply's text where its page shows a link or a name."""

import json
import re
from collections import Counter
from typing import Any

from chatapp.transfer.formats.parts import MAX_LINKS, link
from chatapp.transfer.values import count, line, listed, mapping, text
from chatapp.upstream.wire.sources import Source

_MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201")
_TETHER = re.compile(r"【\d+(?::\d+)?†[^【】\n]{0,60}】")
_ENTITY = re.compile(
    r'\bentity\[("[a-z_]{1,40}","(?:[^"\\\n]|\\.){1,200}","(?:[^"\\\n]|\\.){0,300}")\]'
)
_SPANS = re.compile("[\ue203-\ue206]")  # around the words that are cited
_SEPARATOR = "\ue202"


def with_links(
    said: str, metadata: dict[str, Any], left_out: Counter[str]
) -> tuple[str, list[Source]]:
    """Return the text with links and names in place of its marks, and the sources."""
    sources: list[Source] = []
    said = _with_citations(said, listed(metadata.get("citations")), sources, left_out)
    links: dict[str, list[Source]] = {}  # by mark
    for reference in map(mapping, listed(metadata.get("content_references"))[:MAX_LINKS]):
        found = _sources_of(reference, left_out)
        sources += found
        links.setdefault(text(reference.get("matched_text")).strip(), found)
    return _with_marks(said, links), sources


def _with_marks(said: str, links: dict[str, list[Source]]) -> str:
    """Replace the marks by links; what nothing explains is removed, but for a name."""

    def shown(match: re.Match[str]) -> str:
        return _shown(match.group(), links.get(match.group(), []))

    if not said.isascii():
        said = _SPANS.sub("", _MARK.sub(shown, said))
    if "†" in said:
        said = _TETHER.sub(shown, said)
    if "entity[" in said:
        said = _ENTITY.sub(lambda match: _name(match.group(1)) or match.group(), said)
    return said


def _with_citations(
    said: str, citations: list[Any], sources: list[Source], left_out: Counter[str]
) -> str:
    """Replace ranges, from the last, in what exports before 2025 have."""
    ranges = []
    for citation in map(mapping, citations[:MAX_LINKS]):
        about = mapping(citation.get("metadata"))
        found = link(about.get("url"), about.get("title"), left_out)
        sources += found
        start, end = count(citation.get("start_ix")), count(citation.get("end_ix"))
        if found and start is not None and end is not None:
            ranges.append((start, end, found))
    for start, end, found in sorted(ranges, key=lambda one: -one[0]):
        if _TETHER.fullmatch(said, start, end):
            said = said[:start] + _shown("", found) + said[end:]
    return said


def _sources_of(reference: dict[str, Any], left_out: Counter[str]) -> list[Source]:
    found = link(reference.get("url"), reference.get("title"), left_out)
    for name in ("items", "sources", "fallback_items", "refs"):
        for item in map(mapping, listed(reference.get(name))[:MAX_LINKS]):
            found += link(item.get("url"), item.get("title"), left_out)
    return list({one.url: one for one in found}.values())


def _shown(mark: str, sources: list[Source]) -> str:
    if sources:
        return "".join(f" ([{_label(one)}]({_destination(one.url)}))" for one in sources[:3])
    kind, *fields = mark.strip("\ue200\ue201").split(_SEPARATOR)
    if kind == "entity" and fields:
        return _name(fields[0].strip().strip("[]"))
    if kind == "url" and len(fields) > 1:
        found = link(fields[1], fields[0], Counter())
        return f"[{_label(found[0])}]({_destination(found[0].url)})" if found else line(fields[0])
    return ""


def _label(source: Source) -> str:
    return re.sub(r"([\\\[\]`*_<])", r"\\\1", source.title or source.host)


def _destination(url: str) -> str:
    url = url.replace("<", "%3C").replace(">", "%3E")
    return f"<{url}>" if "(" in url or ")" in url else url


def _name(fields: str) -> str:
    """Return the second of an entity's fields, which are JSON: its kind, name and description."""
    try:
        found = json.loads(f"[{fields}]")
    except (ValueError, RecursionError):
        return ""
    return text(found[1]) if len(found) > 1 else ""
