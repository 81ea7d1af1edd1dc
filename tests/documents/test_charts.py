"""Charts become a mark and a table of their data, within bounds."""

import pytest

from bench.documents.office_packages import element
from chatapp.documents.formats.office import charts
from chatapp.documents.formats.office.xml import parse_xml

CATEGORIES = "<c:cat><c:strRef><c:strCache>{}</c:strCache></c:strRef></c:cat>"


def points(*values: object, code: str = "General") -> str:
    texts = "".join(f'<c:pt idx="{i}"><c:v>{value}</c:v></c:pt>' for i, value in enumerate(values))
    return f"<c:formatCode>{code}</c:formatCode>{texts}"


def series(name: str, categories: str, *values: object, code: str = "General") -> str:
    label = f"<c:tx><c:strRef><c:strCache>{points(name)}</c:strCache></c:strRef></c:tx>"
    data = (
        f"<c:val><c:numRef><c:numCache>{points(*values, code=code)}</c:numCache></c:numRef></c:val>"
    )
    return f"<c:ser>{label}{categories}{data}</c:ser>"


def title(text: str) -> str:
    lines = f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
    return f"<c:title><c:tx><c:rich>{lines}</c:rich></c:tx></c:title>"


def describe_chart(plot: str, above: str = "", more: str = "") -> str:
    content = f"{more}<c:chart>{above}<c:plotArea>{plot}</c:plotArea></c:chart>"
    return charts.describe(
        charts.read_office_chart(parse_xml(element("c:chartSpace", content).encode()))
    )


def test_a_chart_has_its_title_axes_and_data() -> None:
    years = CATEGORIES.format(points("2025", "2026"))
    bars = f"<c:barChart>{series('North', years, 1.5, 2)}{series('South', years, 3)}</c:barChart>"
    axes = f"<c:catAx>{title('Year')}</c:catAx><c:valAx>{title('Sales, M€')}</c:valAx>"
    assert describe_chart(bars + axes, title("Growth")) == (
        "[Chart: Growth]\n\nAxes: Year, Sales, M€\n\n"
        "|  | North | South |\n| --- | --- | --- |\n| 2025 | 1.5 | 3 |\n| 2026 | 2 |  |"
    )


def test_dates_and_percentages_are_readable() -> None:
    dates = points(46082, 46082.5, code="d/m/yyyy")
    dates = f"<c:cat><c:numRef><c:numCache>{dates}</c:numCache></c:numRef></c:cat>"
    plot = f"<c:lineChart>{series('Share', dates, 0.5, 0.125, code='0.0%')}</c:lineChart>"
    assert describe_chart(plot).endswith("| 2026-03-01 | 50% |\n| 2026-03-01 12:00 | 12.5% |")
    since_1904 = describe_chart(plot, more='<c:date1904 val="1"/>')
    assert "| 2030-03-02 | 50% |" in since_1904


def test_labels_stay_as_they_are() -> None:
    labels = CATEGORIES.format(points("1.10", "01067", "2019_20"))
    plot = f"<c:barChart>{series('Rent', labels, 12345678901.5, 0.1 + 0.2, 7)}</c:barChart>"
    assert describe_chart(plot).endswith(
        "| 1.10 | 12345678901.5 |\n| 01067 | 0.3 |\n| 2019_20 | 7 |"
    )


def test_a_time_of_day_is_no_date() -> None:
    labels = CATEGORIES.format(points("Start"))
    plot = f"<c:barChart>{series('At', labels, 0.5, code='h:mm')}</c:barChart>"
    assert describe_chart(plot).endswith("| Start | 12:00 |")


def test_points_of_scatter_charts_have_both_coordinates() -> None:
    def xy(name: str, x: int) -> str:
        label = f"<c:tx><c:v>{name}</c:v></c:tx>"
        return f"<c:ser>{label}<c:xVal>{points(x)}</c:xVal><c:yVal>{points(9)}</c:yVal></c:ser>"

    assert describe_chart(f"<c:scatterChart>{xy('a', 1)}{xy('b', 2)}</c:scatterChart>") == (
        "[Chart]\n\n| a, x | a | b, x | b |\n| --- | --- | --- | --- |\n| 1 | 9 | 2 | 9 |"
    )


def test_an_automatic_title_is_the_name_of_the_only_series() -> None:
    assert describe_chart(f"<c:pieChart>{series('Votes', '', 1)}</c:pieChart>", "<c:title/>") == (
        "[Chart: Votes]\n\n| Votes |\n| --- |\n| 1 |"
    )


def test_newer_kinds_of_charts_are_read() -> None:
    words = '<cx:strDim type="cat"><cx:lvl><cx:pt idx="0">Rent</cx:pt></cx:lvl></cx:strDim>'
    values = '<cx:numDim type="val"><cx:lvl><cx:pt idx="0">12</cx:pt></cx:lvl></cx:numDim>'
    data = f'<cx:chartData><cx:data id="0">{words}{values}</cx:data></cx:chartData>'
    name = "<cx:tx><cx:txData><cx:v>Costs</cx:v></cx:txData></cx:tx>"
    plot = f'<cx:series>{name}<cx:dataId val="0"/></cx:series>'
    root = parse_xml(element("cx:chartSpace", f"{data}<cx:chart>{plot}</cx:chart>").encode())
    assert charts.describe(charts.read_office_chart(root)) == (
        "[Chart]\n\n|  | Costs |\n| --- | --- |\n| Rent | 12 |"
    )


@pytest.mark.parametrize("count", [charts.MAX_POINTS, charts.MAX_POINTS + 7])
def test_values_beyond_the_bound_are_counted(count: int) -> None:
    text = describe_chart(f"<c:lineChart>{series('a', '', *range(count))}</c:lineChart>")
    assert text.count("\n| ") == charts.MAX_POINTS + 2  # with the head and its rule
    assert ("[7 more values of the chart are left out]" in text) == (count > charts.MAX_POINTS)


def test_claimed_indexes_and_odd_numbers_do_no_harm() -> None:
    odd = '<c:pt idx="999999999"><c:v>nan</c:v></c:pt><c:pt idx="x"><c:v>1e999</c:v></c:pt>'
    plot = f"<c:ser><c:val><c:numCache>{odd}</c:numCache></c:val></c:ser>"
    assert describe_chart(f"<c:lineChart>{plot}</c:lineChart>") == (
        "[Chart]\n\n| Series 1 |\n| --- |\n| nan |"
    )
