"""The number formats of an Excel file, by the styles of its cells (ECMA-376, part 1, 18.8)."""

from collections.abc import Sequence

from chatapp.documents.formats.office.archive import Archive
from chatapp.documents.formats.office.relationships import find_related_part
from chatapp.documents.formats.office.xml import child, children, parse_xml

from .number_formats import NumberFormat, number_format

GENERAL = "General"
# The formats that every file has (18.8.30). Some show dates in the order of the reader's country,
# which does not matter because dates become ISO 8601.
BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    5: '"$"#,##0_);\\("$"#,##0\\)',
    6: '"$"#,##0_);\\("$"#,##0\\)',
    7: '"$"#,##0.00_);\\("$"#,##0.00\\)',
    8: '"$"#,##0.00_);\\("$"#,##0.00\\)',
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: "yyyy-mm-dd",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm",
    37: "#,##0_);(#,##0)",
    38: "#,##0_);(#,##0)",
    39: "#,##0.00_);(#,##0.00)",
    40: "#,##0.00_);(#,##0.00)",
    41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
    42: '_("$"* #,##0_);_("$"* (#,##0);_("$"* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    44: '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)',
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    49: "@",
}
# Dates of Chinese, Japanese, Korean and Thai files; 32 to 35 are times.
BUILT_IN |= dict.fromkeys([*range(27, 32), 36, *range(50, 59), *range(71, 77)], "yyyy-mm-dd")
BUILT_IN |= {32: "h:mm", 33: "h:mm:ss", 34: "h:mm", 35: "h:mm:ss"}


class Formats:
    """The formats by the numbers of the styles; each is parsed when a cell first has it."""

    def __init__(self, codes: Sequence[str], is_1904: bool) -> None:
        self._codes, self._is_1904 = codes, is_1904
        self._parsed: dict[int, NumberFormat] = {}

    def get(self, style: int) -> NumberFormat:
        if (cell_format := self._parsed.get(style)) is None:
            code = self._codes[style] if style < len(self._codes) else GENERAL
            cell_format = self._parsed[style] = number_format(code, self._is_1904)
        return cell_format


def read_formats(archive: Archive, main: str, is_1904: bool) -> Formats:
    part = find_related_part(archive, main, "styles")
    root = parse_xml(archive.part(part)) if part else None
    codes = {
        each.get("numFmtId", ""): each.get("formatCode", "")
        for each in children(child(root, "numFmts"), "numFmt")
    }
    numbers = [each.get("numFmtId", "") for each in children(child(root, "cellXfs"), "xf")]
    return Formats(
        [codes.get(number) or _find_built_in_code(number) for number in numbers], is_1904
    )


def _find_built_in_code(number: str) -> str:
    return BUILT_IN.get(int(number), GENERAL) if number.isdecimal() else GENERAL
