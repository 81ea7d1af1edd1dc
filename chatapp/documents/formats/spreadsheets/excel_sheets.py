"""Reads the cells of an Excel sheet (ECMA-376, part 1, 18.3) as a stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chatapp.documents import refusals

from .addresses import MAX_COLUMNS, MAX_ROWS, Area, column_number, parse_area
from .excel_rich_values import RichValues
from .excel_strings import unescape
from .excel_styles import Formats
from .formulas import NOT_CALCULATED, move_formula, write_formula
from .number_formats import NumberFormat
from .sheets import Budget, Sheet
from .streams import Attributes, Stream

TRUE = ("1", "true")
HEADERS = ("oddHeader", "evenHeader", "firstHeader")
FOOTERS = ("oddFooter", "evenFooter", "firstFooter")


@dataclass(frozen=True)
class Values:
    """The values and formats that the cells of all sheets refer to."""

    strings: Sequence[str]
    formats: Formats
    rich_values: RichValues
    calculates_on_load: (
        bool  # so a program that doesn't calculate wrote 0 as the values of formulas
    )


@dataclass(frozen=True)
class Hyperlink:
    area: Area
    relationship: str


@dataclass
class _Cell:
    column: int
    kind: str
    style: str
    rich_value: str
    value: str | None = None
    formula: str | None = None
    formula_kind: str = ""
    runs: list[str] = field(default_factory=list)


class SheetReader(Stream):
    """Fills a sheet with its cells."""

    def __init__(self, sheet: Sheet, values: Values, budget: Budget) -> None:
        super().__init__()
        self.hyperlinks: list[Hyperlink] = []
        self.headers: list[str] = []
        self.footers: list[str] = []
        self._sheet, self._values, self._budget = sheet, values, budget
        self._row, self._cells = -1, dict[int, str]()
        self._column = -1
        self._cell: _Cell | None = None
        self._is_phonetic = False
        self._shared: dict[str, tuple[str, int, int]] = {}  # formulas, and where they are
        self._begins: dict[str, Callable[[Attributes], None]] = {
            "row": self._begin_row,
            "c": self._begin_cell,
            "f": self._begin_formula,
            "rPh": self._begin_phonetic,
            "col": self._add_columns,
            "mergeCell": self._add_merged,
            "hyperlink": self._add_hyperlink,
        }
        self._ends: dict[str, Callable[[], None]] = {
            "c": self._end_cell,
            "v": self._end_value,
            "t": self._end_run,
            "f": self._end_formula,
            "rPh": self._end_phonetic,
        }
        self._ends |= dict.fromkeys(HEADERS, lambda: self.headers.append(self.take_text()))
        self._ends |= dict.fromkeys(FOOTERS, lambda: self.footers.append(self.take_text()))

    def begin(self, name: str, attributes: Attributes) -> None:
        if self._pieces:
            self._pieces.clear()
        if begin := self._begins.get(name):
            begin(attributes)

    def end(self, name: str) -> None:
        if end := self._ends.get(name):
            end()

    def _begin_row(self, attributes: Attributes) -> None:
        self._row = _to_int(attributes.get("r", ""), self._row + 2) - 1
        if not 0 <= self._row < MAX_ROWS:
            raise refusals.damaged()
        self._column = -1
        self._cells = self._sheet.rows.get(self._row, {})
        if attributes.get("hidden") in TRUE or attributes.get("ht") == "0":
            self._sheet.hidden_rows.add(self._row)

    def _begin_cell(self, attributes: Attributes) -> None:
        letters = attributes.get("r", "").rstrip("0123456789")
        self._column = column_number(letters) if letters else self._column + 1
        if self._row < 0 or self._column >= MAX_COLUMNS:
            raise refusals.damaged()
        self._cell = _Cell(
            self._column,
            attributes.get("t", "n"),
            attributes.get("s", "0"),
            attributes.get("vm", ""),
        )

    def _begin_formula(self, attributes: Attributes) -> None:
        if self._cell is not None:
            self._cell.formula_kind = attributes.get("t", "")
            self._cell.formula = attributes.get("si", "")

    def _end_formula(self) -> None:
        cell, formula = self._cell, self.take_text()
        if cell is None:
            return
        if cell.formula_kind == "shared" and cell.formula is not None:
            if formula:
                self._shared[cell.formula] = (formula, self._row, cell.column)
            elif shared := self._shared.get(cell.formula):
                formula = move_formula(shared[0], self._row - shared[1], cell.column - shared[2])
        cell.formula = formula

    def _end_value(self) -> None:
        if self._cell is not None:
            self._cell.value = self.take_text()

    def _end_run(self) -> None:
        if self._cell is not None and not self._is_phonetic:
            self._cell.runs.append(self.take_text())

    def _begin_phonetic(self, _attributes: Attributes) -> None:
        self._is_phonetic = True

    def _end_phonetic(self) -> None:
        self._is_phonetic = False

    def _end_cell(self) -> None:
        if self._cell is None:
            return
        text = self._text(self._cell)
        if text and not text.isspace():
            self._budget.spend_cells(text)
            if not self._cells:
                self._sheet.rows[self._row] = self._cells
            self._cells[self._cell.column] = text
        self._cell = None

    def _text(self, cell: _Cell) -> str:
        if cell.formula is not None and self._is_missing(cell):
            if not cell.formula:
                return NOT_CALCULATED
            return write_formula(cell.formula, is_array=cell.formula_kind == "array")
        if cell.rich_value and (display_text := self._values.rich_values.write(cell.rich_value)):
            return display_text
        value = cell.value or ""
        match cell.kind:
            case "n":
                return self._format(cell).format_number(value.strip()) if value else ""
            case "s":
                return self._format(cell).format_text(self._shared_string(value))
            case "b":
                return "TRUE" if value.strip() in TRUE else "FALSE"
            case "inlineStr":
                return self._format(cell).format_text(unescape("".join(cell.runs) or value))
            case "str":
                return self._format(cell).format_text(unescape(value))
            case "d":
                return value.removesuffix("T00:00:00").replace("T", " ")
        return value

    def _is_missing(self, cell: _Cell) -> bool:
        """Return whether the value of a formula was never calculated."""
        if cell.kind == "str":
            return cell.value is None
        return not cell.value or (self._values.calculates_on_load and cell.value == "0")

    def _shared_string(self, number: str) -> str:
        index = _to_int(number.strip(), -1)
        return self._values.strings[index] if 0 <= index < len(self._values.strings) else ""

    def _format(self, cell: _Cell) -> NumberFormat:
        return self._values.formats.get(_to_int(cell.style, 0))

    def _add_columns(self, attributes: Attributes) -> None:
        if attributes.get("hidden") in TRUE or attributes.get("width") == "0":
            first = _to_int(attributes.get("min", ""), 0)
            last = _to_int(attributes.get("max", ""), first)
            self._sheet.hide_columns(first - 1, last - 1)

    def _add_merged(self, attributes: Attributes) -> None:
        if area := parse_area(attributes.get("ref", "")):
            self._sheet.merged.append(area)

    def _add_hyperlink(self, attributes: Attributes) -> None:
        relationship = next((v for key, v in attributes.items() if key.endswith(":id")), "")
        area = parse_area(attributes.get("ref", ""))
        if area and relationship:
            self.hyperlinks.append(Hyperlink(area, relationship))


def _to_int(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else default
