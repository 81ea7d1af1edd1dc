"""Parses a search query: words, "quoted phrases" and filters.

None of it reaches a database as syntax. An invalid filter gives an error; a filter without a value
is ignored, since it may still be being typed.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from django import forms

from chatapp.models.search.search_entries import CODE, MODEL, PROMPT, REPLY, TITLE
from chatapp.text.indexing import Phrase, Term, mark, name_marks, parse_quoted_phrase, terms

MAX_LENGTH, MAX_TERMS = 500, 32
PIECES = re.compile(
    r"""(?P<filter>from|model|project|before|after|has):(?P<value>"[^"]*"?|\S*)"""
    r"""|"(?P<quoted>[^"]*)(?P<end>"?)|(?P<plain>[^\s"]+)""",
    re.IGNORECASE,
)
DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)


@dataclass
class SearchQuery:
    """A parsed query: all of the terms must match, within the times and the project."""

    terms: list[Term] = field(default_factory=list)  # visible words in the results
    marks: list[Term] = field(default_factory=list)
    project: str = ""
    after: datetime | None = None  # inclusive
    before: datetime | None = None  # exclusive

    @property
    def is_empty(self) -> bool:
        return not (self.terms or self.marks or self.project or self.after or self.before)

    @property
    def expression(self) -> list[Term]:
        """The terms that each index entry found must have."""
        return [*self.marks, *self.terms] or [build_mark_term(PROMPT, REPLY, TITLE)]


def build_mark_term(*marks: str) -> Term:
    return Term(tuple(Phrase((mark(name),)) for name in marks))


class SearchForm(forms.Form):
    q = forms.CharField(
        required=False,
        max_length=MAX_LENGTH,
        error_messages={"max_length": f"A search can have at most {MAX_LENGTH} characters."},
    )
    until = forms.IntegerField(required=False, min_value=0, max_value=2**62)
    conversation = forms.UUIDField(required=False)

    def __init__(self, data: "dict[str, str] | object", zone: timezone) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self._zone = zone
        self.search_query = SearchQuery()

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        for piece in PIECES.finditer(text):
            if name := piece["filter"]:
                if value := piece["value"].strip('"').strip():
                    self._filter(name.lower(), value)
            elif piece["plain"]:
                self.search_query.terms += terms(piece["plain"])
            elif term := parse_quoted_phrase(piece["quoted"], is_open=not piece["end"]):
                self.search_query.terms.append(term)
        if len(self.search_query.terms) > MAX_TERMS:
            raise forms.ValidationError(f"A search can have at most {MAX_TERMS} words.")
        return text

    def _filter(self, name: str, value: str) -> None:
        match name:
            case "from":
                author = {"me": PROMPT, "model": REPLY}.get(value.lower())
                if author is None:
                    raise forms.ValidationError("Use from:me or from:model.")
                self.search_query.marks.append(build_mark_term(author))
            case "has":
                if value.lower() != "code":
                    raise forms.ValidationError("Use has:code.")
                self.search_query.marks.append(build_mark_term(CODE))
            case "model":
                model_marks = name_marks(MODEL, value)[:1]
                self.search_query.marks += [
                    Term((Phrase((model_mark,), is_prefix=True),)) for model_mark in model_marks
                ]
            case "project":
                self.search_query.project = value
            case "before":
                self.search_query.before = self._day(name, value)
            case "after":
                self.search_query.after = self._day(name, value)

    def _day(self, name: str, value: str) -> datetime:
        """Return the start of the day in the person's time zone."""
        if match := DAY.fullmatch(value):
            year, month, day = (int(group or 1) for group in match.groups())
            try:
                return datetime(year, month, day, tzinfo=self._zone).astimezone(UTC)
            except (ValueError, OverflowError):
                pass
        example = datetime.now(self._zone) - timedelta(days=30)
        raise forms.ValidationError(f"Use a date, for example {name}:{example:%Y-%m-%d}.")

    @property
    def problem(self) -> str:
        """The first error as a sentence, or ""."""
        return next((str(error) for errors in self.errors.values() for error in errors), "")
