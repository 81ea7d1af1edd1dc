"""All documents of the benchmark."""

from collections.abc import Sequence
from functools import cache

from bench.documents import office, other, pdf, spreadsheets
from bench.documents.case import Case


@cache
def all_cases() -> Sequence[Case]:
    modules = (pdf, office, spreadsheets, other)
    return [case for module in modules for case in module.cases()]
