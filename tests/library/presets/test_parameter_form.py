"""The form of parameters saves what it shows, whatever the values."""

import json
from typing import Any

from django.http import QueryDict
from django.template.loader import render_to_string
from hypothesis import given, reject
from hypothesis import strategies as st

from chatapp.library.presets.parameter_form import ParameterForm
from chatapp.parameters.table import EFFORT_NAMES
from chatapp.parameters.values import InvalidParameters, clean_parameters
from tests.support.page import collect_fields, parse

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
LINES = st.text(st.sampled_from('a \\nrt\n\r\t\u2028\u200b"<&'), min_size=1, max_size=10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT | LINES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
OBJECT = st.dictionaries(st.text("abc_", min_size=1), JSON, min_size=1, max_size=5)
SCHEMA = st.fixed_dictionaries(
    {"type": st.just("json_schema"), "schema": OBJECT}, optional={"strict": st.booleans()}
)
PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2) | st.integers(0, 2),
        "top_p": st.floats(0, 1),
        "max_output_tokens": st.integers(1, 10_000_000),
        "reasoning_effort": st.sampled_from(list(EFFORT_NAMES)),
        "stop": st.lists(LINES, min_size=1, max_size=4),
        "seed": st.integers(-(2**63), 2**63 - 1),
        "response_format": st.sampled_from([{"type": "text"}, {"type": "json_object"}]) | SCHEMA,
        "logprobs": st.booleans(),
        "top_logprobs": st.integers(0, 20),
        "web_search": st.booleans(),
        "extra": OBJECT,
    },
)


def save_unchanged(system_prompt: str, parameters: dict[str, Any]) -> tuple[str, Any]:
    """Return what is saved by a form that shows these, if nothing is changed in it."""
    context = {"form": ParameterForm.of(system_prompt, parameters), "composer": False}
    page = render_to_string("library/presets/_parameters.html", context)
    posted = QueryDict(mutable=True)
    for name, values in collect_fields(parse(page)).items():
        posted.setlist(name, [value.replace("\n", "\r\n") for value in values])
    form = ParameterForm(posted)
    assert form.is_valid(), form.errors
    return form.cleaned_data["system_prompt"], form.parameters


@given(st.text("a\n ", max_size=5).map(lambda text: text + "."), PARAMETERS)
def test_parameters_stay_as_they_are(system_prompt: str, parameters: dict[str, Any]) -> None:
    try:
        parameters = clean_parameters(parameters)
    except InvalidParameters:
        reject()
    assert save_unchanged(system_prompt, parameters) == (system_prompt, parameters)


def test_json_near_the_limit_is_not_indented() -> None:
    extra = {"a": [0] * 6000}
    assert len(json.dumps(extra)) < 20_000 < len(json.dumps(extra, indent=2))
    assert save_unchanged("", {"extra": extra}) == ("", {"extra": extra})
