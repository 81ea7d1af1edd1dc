"""The table of parameters: what follows from it."""

from pathlib import Path

from chatapp.parameters.rules import clean_rules
from chatapp.parameters.table import PARAMETERS
from chatapp.upstream.wire.requests.spellings import COMMON_SPELLING, get_fields

DOCS = Path(__file__).parents[2] / "docs"


def read_cells(section: str) -> list[list[str]]:
    """Return the cells of the rows of the first table in a section."""
    table = section[section.index("|---") :].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[1:]]


def test_the_documentation_lists_every_parameter_with_its_values() -> None:
    section = (DOCS / "gateways.md").read_text().partition("### Parameters of chats")[2]
    assert read_cells(section) == [
        [parameter.label, parameter.kind.description] for parameter in PARAMETERS.values()
    ]


def test_the_documentation_of_the_api_names_the_fields_of_every_parameter() -> None:
    [row] = [
        line for line in (DOCS / "api.md").read_text().splitlines() if line.startswith("| `temp")
    ]
    named = set(row.split(" | ")[0].replace("`", "").strip("| ").split(", "))
    output = set(get_fields("max_output_tokens"))
    set_to = dict.fromkeys(PARAMETERS.keys() - {"max_output_tokens", "extra"}, True)
    assert named == COMMON_SPELLING.build_fields(set_to).keys() | output


def test_every_parameter_can_be_forbidden_by_a_rule() -> None:
    rules = {name: {"fixed": None} for name in PARAMETERS}
    assert clean_rules(rules) == rules
