"""Read a reply's sources: `citations`, `search_results` and `annotations` in, links out.

Perplexity and xAI list URLs next to the choices, Perplexity in every chunk; OpenAI and OpenRouter
annotate the text with `url_citation`. Links must use http or https, and must not disguise where
they lead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from chatapp.upstream.wire.errors.upstream_error import clean

MAX_SOURCES = 100
_MAX_URL_LENGTH = 2000
_MAX_TITLE_LENGTH = 200
_MAX_LISTED = 1000  # items of one list, including repeated ones


@dataclass(frozen=True, slots=True)
class Source:
    url: str
    title: str = ""

    @property
    def host(self) -> str:
        """The host the link leads to, to show next to the title."""
        return urlsplit(self.url).hostname or ""


@dataclass(slots=True)
class SourceReader:
    """Finds new sources, identified by URL; a source may get its title later."""

    _titles: dict[str, str] = field(default_factory=dict)
    _last: object = None

    def read(self, content: object, left_out: list[str]) -> list[Source]:
        """Return the sources that are new or have a title for the first time."""
        if not content or content == self._last:
            return []
        self._last = content
        new_sources = []
        for url, title in _find_links(content):
            source = parse_source(url, title)
            known_title = self._titles.get(source.url) if source else None
            if source and (known_title or known_title == source.title):
                continue
            if source is None or len(self._titles) >= MAX_SOURCES:
                left_out.append("source")
            else:
                self._titles[source.url] = source.title
                new_sources.append(source)
        return new_sources


def parse_source(url: object, title: object = "") -> Source | None:
    """Return the source, or None if its link is not safe to show."""
    if not isinstance(url, str) or len(url) > _MAX_URL_LENGTH:
        return None
    try:
        parts = urlsplit(url)
        is_plain = url.isprintable() and not any(map(str.isspace, url))
        is_link = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    except ValueError:
        return None
    if not is_plain or not is_link:
        return None
    return Source(url, clean(title, _MAX_TITLE_LENGTH) if isinstance(title, str) else "")


def _find_links(content: object) -> Iterator[tuple[object, object]]:
    for item in content[:_MAX_LISTED] if isinstance(content, list) else [content]:
        if not isinstance(item, dict):
            yield item, ""
            continue
        cited = item.get("url_citation")
        item = cited if isinstance(cited, dict) else item
        yield item.get("url"), item.get("title")
