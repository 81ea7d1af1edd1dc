"""Tool calls for readers of a shared chat, made from the fragments of their owner's page.

The owner's page has a question with buttons in a call that waits for permission. Only the tags and
attributes that are listed here pass, so neither the question nor anything added later reaches
readers.
"""

import re

import nh3

_ID = r"c[0-9a-f]{8}-\d+-\d+"
_ALLOWED = {
    "details": {"class": "tool-call", "data-region": "tool-call", "id": _ID},
    "summary": {},
    "svg": {"class": "icon", "aria-hidden": "true"},
    "use": {"href": r"/(?:[\w.-]+/)*icons(?:\.\w+)?\.svg#icon-wrench"},
    "span": {
        "class": "tool-name|tool-server|tool-state",
        "dir": "auto",
        "title": r"[A-Za-z0-9_.-]{1,200}",
    },
    "div": {"class": "tool-part|tool-table", "tabindex": "0"},
    "h3": {},
    "pre": {"dir": "auto", "tabindex": "0"},
    "code": {"id": f"{_ID}-a"},
    "table": {"class": "tool-arguments"},
    "tbody": {},
    "tr": {},
    "th": {"scope": "row", "dir": "auto"},
    "td": {"dir": "auto"},
    "p": {"class": "as-written"},
}
_FORMS = {
    tag: {name: re.compile(pattern) for name, pattern in of.items()} for tag, of in _ALLOWED.items()
}


def _allowed_value(tag: str, attribute: str, value: str) -> str | None:
    form = _FORMS.get(tag, {}).get(attribute)  # nh3 also asks for tags that it will remove
    return value if form and form.fullmatch(value) else None


_CLEANER = nh3.Cleaner(
    tags=set(_ALLOWED),
    attributes={tag: set(forms) for tag, forms in _ALLOWED.items()} | {"*": set()},
    attribute_filter=_allowed_value,
    clean_content_tags={"section", "form", "button", "script", "style"},
    link_rel=None,
)


def clean_call(html: str) -> str:
    """Return a tool call, or what is appended to one, without its owner's question."""
    return _CLEANER.clean(html)
