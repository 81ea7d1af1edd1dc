"""HTML made of untrusted text contains only what `markdown.allowed` lists, both rendered at once
and incrementally.

`make test-all` tries 100,000 texts, in parts that several processes share.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatapp.rendering.markdown import LiveMarkdown, render, render_typed
from chatapp.rendering.markdown.allowed import ALLOWED
from tests.security.grammar import texts
from tests.security.judge import breaches
from tests.support.profile import choose_size

PARTS = choose_size(1, 50)
TEXTS = choose_size(100, 2000)  # in each part
FORMS = [(tag, name, form) for tag, forms in ALLOWED.items() for name, form in forms.items()]
NAMES = {
    *("align", "aria-label", "checked", "class", "data-language", "dir", "disabled", "href"),
    *("open", "rel", "role", "start", "tabindex", "target", "type"),
}

many = settings(
    max_examples=TEXTS,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("part", range(PARTS))
@many
@given(text=texts)
def test_generated_text_split_anywhere_yields_only_allowed_html(part: int, text: str) -> None:
    assert breaches(render(text)) == []
    assert breaches(render_typed(text)) == []
    for split in range(1, len(text)):
        live = LiveMarkdown()
        live.append(text[:split])
        live.changes()
        assert breaches(live.html()) == [], f"after {text[:split]!r}"
    live = LiveMarkdown()
    for character in text:
        live.append(character)
        live.changes()
    live.finish()
    assert breaches(live.html()) == []


def test_prose_has_no_attribute_that_a_script_could_act_on() -> None:
    assert {name for tag, name, _ in FORMS if not tag.startswith("m")} == NAMES


@pytest.mark.parametrize(("tag", "name", "form"), FORMS, ids=[f"{t}-{n}" for t, n, _ in FORMS])
@settings(max_examples=choose_size(8, 60))
@given(data=st.data())
def test_no_allowed_value_contains_a_tag_or_a_quote(
    tag: str, name: str, form: str, data: st.DataObject
) -> None:
    value = data.draw(st.from_regex(form, fullmatch=True))
    assert not set(value) & set('<>"\n\t\r\0\ufdd1\ufdd2')
