"""Charts of Office files: a mark with the title, and a table of the data."""

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chatapp.documents.formats.output import markdown

from .xml import attribute, child, children, descendants, local, number

MAX_POINTS = 500  # rows of a table
MAX_SERIES = 50
DATE_FORMAT = re.compile(r"[ymd]", re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
EPOCH, EPOCH_1904 = datetime.datetime(1899, 12, 30), datetime.datetime(1904, 1, 1)
TEXTS = ("strCache", "strLit", "multiLvlStrCache")  # that the file keeps of its data
MAX_DAYS = 2_900_000  # until the year 9999
MAX_TITLE_LENGTH = 500
EMPTY_WORDS = re.compile(r"\s+")


@dataclass
class Chart:
    title: str = ""
    axes: list[str] = field(default_factory=list)  # their titles
    rows: list[list[str]] = field(default_factory=list)  # the first is the head
    missing: int = 0  # points and series beyond the bounds


def describe(chart: Chart) -> str:
    """Return a chart as Markdown."""
    mark = f"[Chart: {chart.title}]" if chart.title else "[Chart]"
    axes = f"Axes: {', '.join(chart.axes)}" if chart.axes else ""
    missing = f"[{chart.missing:,} more values of the chart are left out]" if chart.missing else ""
    parts = [mark, axes, markdown.table(chart.rows), missing]
    return "\n\n".join(part for part in parts if part)


def read_office_chart(root: Element) -> Chart:
    """Read `c:chartSpace`, or `cx:chartSpace` of newer kinds such as waterfalls."""
    chart = child(root, "chart")
    if child(root, "chartData") is not None:
        return _read_extended_chart(root, chart)
    plot = child(chart, "plotArea")
    kinds = list(plot) if plot is not None else []
    base = EPOCH_1904 if _is_on(child(root, "date1904")) else EPOCH
    series = [_series(each, base) for kind in kinds for each in children(kind, "ser")]
    axes = [_words(child(each, "title")) for each in kinds if local(each).endswith("Ax")]
    names = [each.name for each in series]
    title = _words(child(chart, "title"))
    if child(chart, "title") is not None and not title and len(names) == 1:
        title = names[0]  # which Office shows then
    return _build_chart(title, [axis for axis in axes if axis], series)


@dataclass(frozen=True)
class _Series:
    name: str
    categories: dict[int, str]
    values: dict[int, str]
    sizes: dict[int, str]  # of bubbles


def _build_chart(title: str, axes: list[str], series: Sequence[_Series]) -> Chart:
    first_series = series[:MAX_SERIES]
    shared = _shared_categories(first_series)
    columns: list[tuple[str, dict[int, str]]] = []
    if shared is not None:
        columns.append(("", shared))
    for number_, each in enumerate(first_series, 1):
        name = each.name or f"Series {number_}"
        if shared is None and each.categories:
            columns.append((f"{name}, x", each.categories))
        columns.append((name, each.values))
        if each.sizes:
            columns.append((f"{name}, size", each.sizes))
    indexes = sorted({index for _, points in columns for index in points})
    rows = [[points.get(index, "") for _, points in columns] for index in indexes[:MAX_POINTS]]
    missing = sum(len(each.values) for each in series[MAX_SERIES:])
    missing += sum(len(points.keys() & set(indexes[MAX_POINTS:])) for _, points in columns)
    return Chart(title, axes, [[name for name, _ in columns], *rows] if columns else [], missing)


def _shared_categories(series: Sequence[_Series]) -> dict[int, str] | None:
    """Return the categories if all series have the same, or none of their own."""
    different = [each.categories for each in series if each.categories]
    if not different or any(each != different[0] for each in different[1:]):
        return None
    return different[0]


def _series(series: Element, epoch: datetime.datetime) -> _Series:
    name = child(series, "tx")
    points = [_points(child(series, kind), epoch) for kind in ("cat", "xVal", "val", "yVal")]
    sizes = _points(child(series, "bubbleSize"), epoch)
    return _Series(_words(name), points[0] or points[1], points[2] or points[3], sizes)


def _points(source: Element | None, epoch: datetime.datetime) -> dict[int, str]:
    """Return the values that the file keeps of its data, by their index."""
    if source is None:
        return {}
    texts_by_index: dict[int, list[str]] = {}
    code = next((each.text or "" for each in descendants(source, "formatCode")), "")
    for point, is_number in _cached_points(source):
        value = child(point, "v")
        own_code = point.get("formatCode", code)
        index = number(point.get("idx", ""), 0, 10**9, -1)
        text = (value.text or "") if value is not None else ""
        point_text = _format_number(text, own_code, epoch) if is_number else _line(text)
        texts_by_index.setdefault(index, []).append(point_text)
    # Levels of categories begin with the innermost.
    return {
        index: " / ".join(reversed(texts)) for index, texts in texts_by_index.items() if index >= 0
    }


def _cached_points(source: Element) -> Iterator[tuple[Element, bool]]:
    """Yield the points, each with whether it is a number: a label such as 1.10 is none."""
    texts = [cache for kind in TEXTS for cache in descendants(source, kind)]
    for cache in texts or [source]:
        for point in descendants(cache, "pt"):
            yield point, not texts


def _format_number(text: str, code: str, epoch: datetime.datetime) -> str:
    if "_" in text:  # which only Python takes for a number
        return _line(text)
    try:
        value = float(text)
    except ValueError:
        return _line(text)
    plain_code = QUOTED.sub("", code)
    if DATE_FORMAT.search(plain_code.replace("General", "")) and 0 < value < MAX_DAYS:
        moment = epoch + datetime.timedelta(days=value)
        if value < 1:
            return f"{moment:%H:%M}"
        return moment.date().isoformat() if value == int(value) else f"{moment:%Y-%m-%d %H:%M}"
    if plain_code.endswith("%"):
        return f"{value * 100:.10g}%"
    return text if text.isdecimal() else f"{value:.15g}"


def _read_extended_chart(root: Element, chart: Element | None) -> Chart:
    data = {each.get("id", ""): each for each in children(child(root, "chartData"), "data")}
    series = []
    for each in descendants(root, "series"):
        link = child(each, "dataId")
        points = data.get(attribute(link, "val")) if link is not None else None
        words, values = _dimension(points, "strDim"), _dimension(points, "numDim")
        series.append(_Series(_words(child(each, "tx")), words, values, {}))
    return _build_chart(_words(child(chart, "title")), [], series)


def _dimension(data: Element | None, name: str) -> dict[int, str]:
    texts_by_index: dict[int, list[str]] = {}
    for point in (
        descendants(dimension, "pt") if (dimension := child(data, name)) is not None else ()
    ):
        index = number(point.get("idx", ""), 0, 10**9, -1)
        text = point.text or ""
        point_text = _format_number(text, "", EPOCH) if name == "numDim" else _line(text)
        texts_by_index.setdefault(index, []).append(point_text)
    return {index: " / ".join(reversed(texts)) for index, texts in texts_by_index.items()}


def read_opendocument_chart(root: Element) -> Chart:
    """Read the document of a chart object, which has its data in a table of its own."""
    chart = child(root, "body", "chart", "chart")
    if chart is None:
        return Chart()
    axes = [_words(child(each, "title")) for each in descendants(chart, "axis")]
    titles = [_words(child(chart, each)) for each in ("title", "subtitle")]
    table = child(chart, "table")
    rows = list(descendants(table, "table-row")) if table is not None else []
    cell_rows = [_cells(row) for row in rows[: MAX_POINTS + 1]]
    missing = max(len(rows) - MAX_POINTS - 1, 0) * (len(cell_rows[0]) - 1 if cell_rows else 0)
    title = ": ".join(filter(None, titles))
    return Chart(title, list(filter(None, axes)), cell_rows, missing)


def _cells(row: Element) -> list[str]:
    cells = [each for each in row if local(each) == "table-cell"]
    return [_cell(each) for each in cells[: MAX_SERIES + 1]]


def _cell(cell: Element) -> str:
    if value := attribute(cell, "value"):
        return "" if value.lower() == "nan" else _format_number(value, "", EPOCH)
    return _line(" ".join("".join(each.itertext()) for each in children(cell, "p")))


def _words(element: Element | None) -> str:
    """Return the words of a title or of a series' name, wherever they stand in it."""
    if element is None:
        return ""
    return _line(" ".join(_texts(element)))[:MAX_TITLE_LENGTH]


def _texts(element: Element) -> Iterable[str]:
    for each in element:
        if local(each) == "p":
            yield "".join(each.itertext())
        elif local(each) == "v":
            yield each.text or ""
        else:
            yield from _texts(each)


def _line(text: str) -> str:
    return EMPTY_WORDS.sub(" ", text).strip()


def _is_on(element: Element | None) -> bool:
    return element is not None and element.get("val", "1") not in ("0", "false")
