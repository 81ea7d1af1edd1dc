"""The block that is still being written, as a viewer sees it.

`Prose` is rendered again when its markup may have changed. `Verbatim` (an open code fence, or a
block too long to be Markdown) is only appended to.
"""

import re

from . import budgets
from .arriving import Line
from .block_html import (
    CLOSING,
    OPENING,
    PLAIN,
    PLAIN_CLOSING,
    RenderOptions,
    block_html,
    choose_notice,
    disclosure_html,
    fence_info,
    in_block,
    is_heavy,
    markdown_html,
    plain_block,
    plain_opening,
    unindent,
)
from .blocks import Block, split
from .changes import Append, Change, difference, split_closing_tags
from .characters import escape
from .code import CLOSING_TAGS, escape_code, opening_tags
from .definitions import Definitions
from .disclosures import parse_disclosure
from .formulas import as_source, find_cheap, mathml
from .unfinished import complete_markdown

_LARGE = 4 * 1024
_MAX_OPEN_LINE_LENGTH = 8 * 1024
_GROWTH = 32  # a large block is rendered again when it has grown by 1/32

# Characters without a meaning in Markdown in the middle of a line, after a letter or a digit.
_WORD = (
    r"(?:[^\W_]|[ ,.:?'\"()%/=+\u2013\u2014\u2018\u2019\u201c\u201d\u2026"
    r"\u3001\u3002\uff08\uff09\uff0c\uff1a\uff1f-])"
)
_WORDS = re.compile(f"{_WORD}+")
# Strong or code, complete in one piece, so that no later text can change it. Many gateways send
# several tokens at once.
_MARKED_WORDS = re.compile(rf"(?<= )(\*\*|`)([^\W_](?:{_WORD}*[^\W_])?)\1")
_ELEMENTS = {"**": "strong", "`": "code"}
# Show nothing by themselves; the text after them decides whether they open or close an element.
_MARKERS = re.compile(r" ?(?:\*{1,3}|_{1,3}|`|~~)")
_ENDS_MARKUP = frozenset("*_`~)")
_INLINE_END = re.compile(r"(?:</(?:strong|em|code|del|a)>)+(?!</pre>)")
_ADDRESS = re.compile(r"://|www\.|@|http")
_LETTER = re.compile(r"[^\W\d_]")
_MAY_CLOSE_FENCE = re.compile(r" {0,3}[`~]*[ \t]*\Z")
_EMPTY_CELLS = re.compile(r"(?:<td[^>]*></td>)+(?=</tr></tbody></table></div></div>\Z)")


def is_verbatim(block: Block, line: Line) -> bool:
    """Return whether an open block is shown as its source: code, or a block that is too large."""
    if block.kind == "fence" or not block.is_formatted or is_heavy(block):
        return True
    return block.size + line.size > budgets.MAX_BLOCK_LENGTH or line.size > _MAX_OPEN_LINE_LENGTH


class OpenBlock:
    """The HTML that a viewer has of the open block, split before its closing tags."""

    def __init__(self) -> None:
        self.body = ""
        self.closing = ""
        self.takes_words = False  # whether `add_words` is worth trying

    @property
    def html(self) -> str:
        return self.body + self.closing

    @property
    def is_shown(self) -> bool:
        return bool(self.closing)

    def become(self, html: str) -> list[Change]:
        """Show this HTML; return the changes for a viewer who has the previous HTML."""
        changes: list[Change] = [Append(0, html)]
        if self.is_shown:
            changes = difference(self.body, self.closing, html)
        self.body, self.closing = split_closing_tags(html)
        return changes


class Prose(OpenBlock):
    """A block of Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self._markdown = ""
        self._size = self._rendered_size = 0
        self._end = ""  # the last characters of the text
        self._space = ""  # trailing spaces that are not shown yet
        self._inline_end = ""  # closing tags of inline elements after which the next words go

    def add_words(self, text: str) -> list[Change] | None:
        """Return the change if plain words follow plain words; None if it must be rendered."""
        end = self._end + text
        html = text if _WORDS.fullmatch(text) else self._mark_up(text)
        if not html or _ADDRESS.search(end) or self._size > _MAX_OPEN_LINE_LENGTH:
            return self._hold_markers(text)
        self._size += len(text)
        self._end = end[-4:]
        text = self._space + html
        if self._inline_end:
            if not text.startswith(" "):
                return None
            self._leave_markup()
        words = text.rstrip(" ")
        self._space = text[len(words) :]
        if not words:
            return []
        self.body += words
        return [Append(self.closing.count("<"), words)]

    def _mark_up(self, text: str) -> str:
        """Return words, some of them strong or code, as HTML.

        Returns "" if they contain other markup or are inside an inline element.
        """
        bare = _MARKED_WORDS.sub("", text)
        closing = self.closing.removeprefix(self._inline_end)
        is_within = closing.startswith("</code>") or _INLINE_END.match(closing)
        if bare == text or is_within or (bare and not _WORDS.fullmatch(bare)):
            return ""
        return _MARKED_WORDS.sub(_element, text)

    def _hold_markers(self, text: str) -> list[Change] | None:
        is_code = "</code>" in self.closing  # where all markers but a backtick are text
        if not _MARKERS.fullmatch(text) or (is_code and text != "`"):
            return None
        self.takes_words = False
        return []

    def _leave_markup(self) -> None:
        """Move past the closing tags of the inline elements that have ended."""
        self.body += self._inline_end
        self.closing = self.closing.removeprefix(self._inline_end)
        self._inline_end = ""

    def show(self, block: Block, line: Line, definitions: Definitions) -> list[Change]:
        """Render the block with its incomplete last line, unless that can wait."""
        self.takes_words, self._inline_end = False, ""
        self._size = block.size + line.size
        if self._size > _LARGE and self._size - self._rendered_size < self._size // _GROWTH:
            return []
        self._rendered_size = self._size
        last = line.text
        source = block.source + last
        if block.kind == "details":
            return self._show_disclosure(source, definitions)
        visible_part = complete_markdown(source)
        if visible_part.markdown == self._markdown or not visible_part.markdown:
            return []
        self._markdown = visible_part.markdown
        text = definitions.find_used(source) + visible_part.markdown
        html = markdown_html(
            text, visible_part.formulas, _choose_options(visible_part.formulas), block.level
        )
        html = in_block(plain_block(block) if html is None else html)
        changes = self.become(_EMPTY_CELLS.sub("", html) if last else html)
        self._expect_words(
            last, visible_part.exact, visible_part.markdown == source.rstrip(" \t\n")
        )
        return changes

    def _show_disclosure(self, source: str, definitions: Definitions) -> list[Change]:
        """Render a `<details>` with what it contains so far, once its first tag is complete."""
        disclosure = parse_disclosure(source, is_closed=False)
        if disclosure is None:
            return []
        inner = _inner_html(disclosure.content, definitions.find_used(source))
        return self.become(
            OPENING + disclosure_html(disclosure, disclosure.is_open, inner, PLAIN) + CLOSING
        )

    def _expect_words(self, line: str, is_open: bool, is_whole: bool) -> None:
        """Set `takes_words` if words after the end of this line can only be text.

        If `is_open`, they continue the element that the line ends in. If `is_whole`, so that the
        source is shown without changes, they may also follow an element that has ended.
        """
        text = line.rstrip(" ")
        word = text[text.rfind(" ") + 1 :]
        self._end, self._space = line[-4:], line[len(text) :]
        if not _LETTER.search(line) or _ADDRESS.search(word):
            return
        inline_end = _INLINE_END.match(self.closing)
        if is_open and _WORDS.fullmatch(word[-1]) and self.body.endswith(word[-1]):
            self.takes_words = not self.closing.startswith("</a>")
        if is_whole and inline_end and not self.takes_words and word[-1] in _ENDS_MARKUP:
            self._inline_end = inline_end[0]
            self.takes_words = True


def _inner_html(content: str, definitions: str) -> str:
    """Return the blocks in an open disclosure, the last of them unfinished."""
    blocks = split(content)
    html = [block_html(block, definitions, PLAIN) for block in blocks]
    if blocks and blocks[-1].kind not in ("fence", "rest"):
        last = blocks[-1]
        source = last.source if content.endswith("\n") else last.source.removesuffix("\n")
        html[-1] = _unfinished_html(last, source, definitions)
    return "".join(html)


def _unfinished_html(block: Block, source: str, definitions: str) -> str:
    if block.kind == "details" and (disclosure := parse_disclosure(source, is_closed=False)):
        inner = _inner_html(disclosure.content, definitions)
        return OPENING + disclosure_html(disclosure, disclosure.is_open, inner, PLAIN) + CLOSING
    visible_part = complete_markdown(source)
    options = _choose_options(visible_part.formulas)
    html = markdown_html(
        definitions + visible_part.markdown, visible_part.formulas, options, block.level
    )
    return in_block(plain_block(block) if html is None else html)


def _element(match: re.Match[str]) -> str:
    name = _ELEMENTS[match[1]]
    return f"<{name}>{match[2]}</{name}>"


def _choose_options(formulas: list[str]) -> RenderOptions:
    cheap = find_cheap(formulas)
    return RenderOptions(
        escape_code, lambda formula: mathml(formula) if formula in cheap else as_source(formula)
    )


class Verbatim(OpenBlock):
    """Text shown as its source. Line endings wait for more text, as trailing ones are dropped."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self._is_fence = block.kind == "fence"
        self._indent = block.indent if self._is_fence else 0
        self._next_line = 1 if self._is_fence else 0
        self._shown_of_line = 0
        self._line_ends = 0
        self._opening = plain_opening("" if block.is_formatted else choose_notice(block))
        self._closing = PLAIN_CLOSING
        if self._is_fence:
            self._opening, self._closing = opening_tags(fence_info(block)), CLOSING_TAGS
        self._parts: list[str] = []

    @property
    def html(self) -> str:
        self.body, self._parts = self.body + "".join(self._parts), []
        return self.body + self.closing

    def become(self, html: str) -> list[Change]:
        self.body, self._parts = self.body + "".join(self._parts), []
        return super().become(html)

    def add_words(self, text: str) -> list[Change] | None:
        """Return the change if the text continues the same line."""
        if "\n" in text:
            return None
        self._shown_of_line += len(text)
        return [self._append_html(self._escape_text(text))]

    def show(self, block: Block, line: Line, _definitions: Definitions) -> list[Change]:
        """Append the new lines, and the incomplete line unless it may close the fence."""
        html = [
            self._escape_text(self._get_unshown(line)) for line in block.lines[self._next_line :]
        ]
        self._next_line = len(block.lines)
        last = line.text
        if last and (self._shown_of_line or not self._may_close(last)):
            html.append(self._escape_text(self._get_unshown(last)))
            self._shown_of_line = len(last)
        self.takes_words = bool(self._shown_of_line)
        added = "".join(html)
        if self.is_shown:
            return [self._append_html(added)] if added else []
        return [self._first(added)]

    def _may_close(self, line: str) -> bool:
        return self._is_fence and _MAY_CLOSE_FENCE.match(line) is not None

    def _get_unshown(self, line: str) -> str:
        start, self._shown_of_line = self._shown_of_line, 0
        return line[start:] if start else unindent(line, self._indent)

    def _escape_text(self, text: str) -> str:
        bare = text.rstrip("\n")
        if not bare:
            self._line_ends += len(text)
            return ""
        html = "\n" * self._line_ends + escape(bare)
        self._line_ends = len(text) - len(bare)
        return html

    def _append_html(self, html: str) -> Append:
        self._parts.append(html)
        return Append(self.closing.count("<"), html)

    def _first(self, html: str) -> Append:
        self.body = OPENING + self._opening + html
        self.closing = self._closing + CLOSING
        return Append(0, self.body + self.closing)
