"""Spreadsheets: the values of each sheet as a Markdown table. Formulas and macros never run."""

import datetime
from dataclasses import dataclass
from typing import BinaryIO

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from chatapp.documents import refusals
from chatapp.documents.results import Document, Limits

from . import markdown
from .pages import Pages

Value = int | float | str | bool | datetime.time | datetime.date | datetime.timedelta
MIDNIGHT = datetime.time()


@dataclass(frozen=True)
class Kind:
    name: str
    media_type: str


EXCEL = Kind("Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
OPENDOCUMENT = Kind("OpenDocument", "application/vnd.oasis.opendocument.spreadsheet")


def read(file: BinaryIO, kind: Kind, limits: Limits) -> Document:
    file.seek(0)
    try:
        with CalamineWorkbook.from_filelike(file) as workbook:
            return Document(kind.media_type, kind.name, "Sheet", _sheets(workbook, kind, limits))
    except PasswordError as error:
        raise refusals.encrypted(kind.name) from error
    except CalamineError as error:
        raise refusals.damaged(kind.name) from error


def _sheets(workbook: CalamineWorkbook, kind: Kind, limits: Limits) -> tuple[str, ...]:
    pages = Pages(limits, "Sheet")
    sheets = [each for each in workbook.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
    pages.expect(len(sheets))
    has_values = False
    for sheet in sheets:
        is_hidden = sheet.visible != SheetVisibleEnum.Visible
        rows = _rows(workbook.get_sheet_by_name(sheet.name), limits)
        has_values = has_values or bool(rows)
        title = markdown.heading(sheet.name + (" (hidden)" if is_hidden else ""), 1)
        pages.add(f"{title}\n\n{markdown.table(rows)}")
    if not has_values:
        raise refusals.no_text(kind.name)
    return pages.whole(kind.name)


def _rows(sheet: CalamineSheet, limits: Limits) -> list[list[str]]:
    """Return the rows that have a value."""
    left = limits.characters
    rows = []
    for values in sheet.iter_rows():
        row = [_text(value) if value != "" else "" for value in values]
        if any(row):
            left -= sum(map(len, row))
            if left < 0:
                raise refusals.too_many_characters(limits.characters)
            rows.append(row)
    return rows


def _text(value: Value) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case float():
            return f"{value:.15g}"  # the digits that Excel shows
        case datetime.datetime() if value.time() == MIDNIGHT:
            return str(value.date())
    return str(value)
