"""Completes the Markdown of an unfinished block: closes open markup, holds back what is undecided.

`**bo` becomes `**bo**`, and a link with an incomplete address becomes its text. A line that may
turn out to be a table's header waits, and so does the end of a word that may become an address.
Modelled on Remend, by the authors of Streamdown. It only has to look right: the next token corrects
any mistake, or at the latest the end of the block.
"""

import re
from dataclasses import dataclass, field

from .formulas import mask
from .inline_tags import NAMES
from .link_ends import PUNCTUATION
from .table_rows import last_cell

_TABLE_DELIMITERS = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ROW = re.compile(r" {0,3}\|")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]\n]*\]:[^\n]*\n?\Z")
_TASK = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]?(?:\][ \t]*)?\Z")
_NESTED_FENCE = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE
)
_MARKERS = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)(?:[ \t]+|\Z))*(?:\[[ xX]\][ \t])?")
_ONLY_MARKERS = re.compile(r"[ \t]*(?:[-*+=#>:|`~. \t]|\d{1,9}[.)])*\Z")
# Of tags that are not whole yet.
_BEGINNINGS = "|".join(
    sorted({name[:length] for name in NAMES.split("|") for length in range(3, len(name) + 1)})
)
_UNDECIDED_END = re.compile(
    rf"https?:?/?\Z|(?:https?://|www\.)[^\s{PUNCTUATION}]*\Z|[\w.+-]+@[^\s{PUNCTUATION}]*\Z"
    rf"|<(?:h?t{{0,2}}p?s?|https?:\S*|mailto:\S*)\Z|</?(?:[a-z]{{1,2}}|{_BEGINNINGS})?\Z|<br ?/?\Z"
    r"|&#?\w{0,31}\Z|\\\Z|(?<=\W)!\Z"
)
_MAX_WORD_LENGTH = 2000
_TOKEN = re.compile(rf"\\.|`+|\*+|_+|~~+|!?\[|\]\(?|<https?://[^\s<>]*>|</?(?:{NAMES})>", re.DOTALL)
_ADDRESS = re.compile(r"(?:[^()\s]|\([^()\s]*\))*(?:[ \t]+\"[^\"\n]*\")?[ \t]*\)")
_UNFINISHED_ADDRESS = re.compile(r"[^\s]*(?:[ \t]+\"[^\"\n]*\"?)?[ \t]*\Z")
_MAX_TOKENS = 400
_MAX_LINK_TEXT_LENGTH = 200


@dataclass(frozen=True, slots=True)
class VisibleMarkdown:
    """Markdown to show, its formulas, and whether further words would simply follow its end."""

    markdown: str
    formulas: list[str]
    exact: bool


def complete_markdown(source: str) -> VisibleMarkdown:
    """Return what to show of the source of an open block."""
    masked = mask(source)
    text = masked.text if masked.open_at is None else masked.text[: masked.open_at]
    text = _without_undecided_lines(text)
    exact = len(text) == len(masked.text)
    text = text.rstrip(" \t\n")
    if _ends_in_nested_code(text):
        return VisibleMarkdown(text, masked.formulas, exact)
    completed_text, is_untouched = _close_markup(text)
    return VisibleMarkdown(completed_text, masked.formulas, exact and is_untouched)


def _without_undecided_lines(text: str) -> str:
    """Hold back the last line if its kind is not known yet, or the first two lines of a table."""
    start = text.rstrip("\n").rfind("\n") + 1
    last = text[start:]
    must_wait = bool(_DEFINITION.match(last) or _TASK.match(last))
    if not last.endswith("\n"):
        must_wait = must_wait or _opens_nested_fence(last) or _ONLY_MARKERS.match(last) is not None
    if "|" in text and not _has_table(text):
        previous = text.rfind("\n", 0, max(start - 1, 0)) + 1
        if must_wait and _ROW.match(text, previous) and previous < start:
            return text[:previous]
        must_wait = must_wait or _ROW.match(last) is not None
    return text[:start] if must_wait else text


def _has_table(text: str) -> bool:
    """Return whether the complete lines of the last paragraph include a table's delimiter row."""
    complete = text[: text.rfind("\n") + 1].rstrip("\n").rsplit("\n\n", 1)[-1]
    return any(_TABLE_DELIMITERS.match(line) for line in complete.split("\n")[1:] if "|" in line)


def _opens_nested_fence(line: str) -> bool:
    return ("```" in line or "~~~" in line) and _NESTED_FENCE.match(line) is not None


def _ends_in_nested_code(text: str) -> bool:
    if "```" not in text and "~~~" not in text:
        return False
    fence = ""
    for run, info in _NESTED_FENCE.findall(text):
        if not fence:
            fence = run
        elif run.startswith(fence) and not info.strip():
            fence = ""
    return bool(fence)


def _close_markup(text: str) -> tuple[str, bool]:
    """Return the text with its open inline markup closed, and whether nothing was held back."""
    start = _leaf_start(text)
    walk = _Walk(text, start)
    if walk.in_code:
        return walk.close_markup(), walk.untouched
    word = max(text.rfind(" "), text.rfind("\n"), start - 1) + 1
    undecided_end = (
        _UNDECIDED_END.search(text, word) if len(text) - word <= _MAX_WORD_LENGTH else None
    )
    if undecided_end is None:
        return walk.close_markup(), walk.untouched
    return _Walk(text[: undecided_end.start()].rstrip(" \t\n"), start).close_markup(), False


def _leaf_start(text: str) -> int:
    """Return where the last paragraph, item, cell or heading of the text begins."""
    start = len(text)
    for _ in range(50):
        start = text.rfind("\n", 0, max(start, 0)) + 1
        line_end = text.find("\n", start)
        line = text[start : None if line_end < 0 else line_end]
        begins = _MARKERS.match(line)
        if start == 0 or not line.strip() or (begins and begins.end() and begins[0].strip()):
            break
        if line.lstrip(" ").startswith("|"):
            return start + last_cell(text[start:])
        if not text[text.rfind("\n", 0, start - 1) + 1 : start].strip():
            break
        start -= 1
    if text[start:].lstrip(" ").startswith("|"):
        return start + last_cell(text[start:])
    match = _MARKERS.match(text, start)
    return match.end() if match else start


@dataclass(slots=True)
class _Opening:
    marker: str  # "*", "_", "~", "[" or a tag such as "<sub>"
    count: int
    at: int


@dataclass(slots=True)
class _Walk:
    """One pass over the text of a leaf block that tracks open markup."""

    text: str
    at: int
    open: list[_Opening] = field(default_factory=list)
    code: str = ""
    untouched: bool = True

    @property
    def in_code(self) -> bool:
        return bool(self.code)

    def __post_init__(self) -> None:
        original, start = self.text, self.at
        for _ in range(_MAX_TOKENS):
            token = _TOKEN.search(self.text, self.at)
            if token is None:
                return
            self.at = token.end()
            self._read_token(token)
        # Too many tokens to be meant as markup.
        self.text, self.at, self.open, self.code = original, start, [], ""

    def close_markup(self) -> str:
        text, end = self.text, []
        for opening in reversed(self.open):
            if opening.marker[0] == "<":
                end.append(opening.marker.replace("<", "</"))
            elif opening.marker != "[":
                end.append(opening.marker * opening.count)
            elif len(text) - opening.at <= _MAX_LINK_TEXT_LENGTH:
                self.untouched = False
                text = text[: opening.at] + text[opening.at + opening.count :]
        bare = text.rstrip(" \t\n")
        return bare + self.code + "".join(end)

    def _read_token(self, token: re.Match[str]) -> None:
        match token[0][0]:
            case "`":
                self._read_code(token)
            case "*" | "_" | "~":
                self._read_run(token)
            case "[" | "!":
                self.open.append(_Opening("[", len(token[0]), token.start()))
            case "]":
                self._read_link_end(token)
            case "<" if not token[0].startswith("<http"):
                self._read_tag(token)
            case _:
                pass

    def _read_tag(self, token: re.Match[str]) -> None:
        if token[0][1] == "/":
            self._close(token[0].replace("/", ""), 1)
        elif self.at == len(self.text):
            self._hold_back(token.start())
        else:
            self.open.append(_Opening(token[0], 1, token.start()))

    def _read_code(self, token: re.Match[str]) -> None:
        run = token[0]
        closing = re.compile(f"(?<!`){run}(?!`)").search(self.text, self.at)
        if closing:
            self.at = closing.end()
            return
        content = self.text[self.at :].rstrip("`") if len(run) > 1 else self.text[self.at :]
        self.untouched &= len(content) == len(self.text) - self.at
        if content.strip():
            self.text, self.code = self.text[: self.at] + content, run
        else:
            self._hold_back(token.start())
        self.at = len(self.text)

    def _read_run(self, token: re.Match[str]) -> None:
        marker, count = token[0][0], len(token[0])
        before = self.text[max(token.start() - 1, 0) : token.start()]
        after = self.text[self.at : self.at + 1]
        if not after:
            self._hold_back(token.start())
            return
        left, right = _flanking(before, after)
        if marker == "_":
            left, right = left and not before.isalnum(), right and not after.isalnum()
        if right:
            count = self._close(marker, count)
        # Two equal openings would be closed by a single run, which has another meaning.
        is_alike = any((opening.marker, opening.count) == (marker, count) for opening in self.open)
        if left and count and not is_alike and not (marker == "~" and count != 2):
            self.open.append(_Opening(marker, count, token.start()))

    def _close(self, marker: str, count: int) -> int:
        for index in range(len(self.open) - 1, -1, -1):
            opening = self.open[index]
            if count and opening.marker == marker:
                used = min(count, opening.count)
                count, opening.count = count - used, opening.count - used
                del self.open[index + bool(opening.count) :]
        return count

    def _read_link_end(self, token: re.Match[str]) -> None:
        index = max((i for i, o in enumerate(self.open) if o.marker == "["), default=-1)
        if index < 0:
            return
        if token[0] == "](":
            if address := _ADDRESS.match(self.text, self.at):
                self.at = address.end()
            elif _UNFINISHED_ADDRESS.match(self.text, self.at):
                self._hold_back(token.start())
                return
        elif self.at == len(self.text):
            self._hold_back(token.start())
            return
        del self.open[index:]

    def _hold_back(self, start: int) -> None:
        self.text, self.untouched = self.text[:start], False
        self.at = start


def _flanking(before: str, after: str) -> tuple[bool, bool]:
    space_before, space_after = not before.strip(), not after.strip()
    word_before = not space_before and before.isalnum()
    word_after = not space_after and after.isalnum()
    left = not space_after and (word_after or not word_before)
    right = not space_before and (word_before or not word_after)
    return left, right
