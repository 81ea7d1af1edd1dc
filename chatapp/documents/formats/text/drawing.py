"""SVG drawings: their source without scripts. A drawing is never rendered."""

from html.parser import HTMLParser
from itertools import accumulate

from chatapp.documents.formats.output.pages import Pages
from chatapp.documents.results import Document, Limits

KIND, MEDIA_TYPE = "SVG", "text/xml"
MARK = "[Script left out]"


def read(source: str, limits: Limits) -> Document:
    scripts = _Scripts(source)
    pages = Pages(limits)
    start, text = 0, ""
    for begin, end in scripts.spans:
        text += source[start:begin] + MARK
        start = end
    pages.add(text + source[start:])
    if scripts.spans:
        pages.leave_out("script", len(scripts.spans))
    return Document(MEDIA_TYPE, KIND, "", pages.whole(KIND), (), pages.left_out)


class _Scripts(HTMLParser):
    """Finds where the scripts of a source begin and end."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.spans: list[tuple[int, int]] = []
        self._source = source
        self._lines: list[int] = [
            0,
            *accumulate(map(len, source.split("\n")), lambda a, b: a + b + 1),
        ]
        self._begin: int | None = None
        self.feed(source)
        self.close()
        if self._begin is not None:
            self.spans.append((self._begin, len(source)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if _is_script(tag) and self._begin is None:
            self._begin = self._position

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if _is_script(tag):
            self.spans.append(
                (self._position, self._position + len(self.get_starttag_text() or ""))
            )

    def handle_endtag(self, tag: str) -> None:
        if _is_script(tag) and self._begin is not None:
            end = self._source.find(">", self._position) + 1
            self.spans.append((self._begin, end or len(self._source)))
            self._begin = None

    @property
    def _position(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + int(column)


def _is_script(tag: str) -> bool:
    return tag.rpartition(":")[2] == "script"
