"""The complete list of what HTML made from untrusted text may contain."""

import pytest

from chatapp.rendering.markdown.allowed import ALLOWED, MATHML, PROSE, REL, cleaner

LINK = f'target="_blank" rel="{REL}"'


@pytest.mark.parametrize(
    ("html", "cleaned"),
    [
        ('<a href="http://a.b" title="c" onclick="d">e</a>', f'<a href="http://a.b" {LINK}>e</a>'),
        ('<a href="javascript:a">b</a>', f"<a {LINK}>b</a>"),
        ('<a href="/a">b</a>', f"<a {LINK}>b</a>"),
        ('<p class="as-written">a</p><p class="code">b</p>', '<p class="as-written">a</p><p>b</p>'),
        ('<ol start="3"></ol><ol start="3 4"></ol>', '<ol start="3"></ol><ol></ol>'),
        ('<input type="text">', '<input disabled="">'),
        ('<p id="a" style="b" hx-get="/c">d</p>', "<p>d</p>"),
        ("<script>a</script><img src=x>b", "b"),
        ('<math><mi href="/a">x</mi></math>', "<math><mi>x</mi></math>"),
        ('<math><mspace width="999em"></mspace></math>', "<math><mspace></mspace></math>"),
    ],
)
def test_anything_not_listed_is_removed(html: str, cleaned: str) -> None:
    assert cleaner(ALLOWED).clean(html) == cleaned


def test_a_formula_may_not_contain_prose() -> None:
    assert not set(MATHML) & set(PROSE)
    assert cleaner(MATHML).clean("<b>a</b><math><mi>b</mi></math>") == "a<math><mi>b</mi></math>"
