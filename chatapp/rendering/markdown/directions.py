"""Marks right-to-left text, even if it begins with code or a Latin word.

With `dir="auto"`, the browser decides by the first letter, and technical text in Hebrew or Arabic
often begins with a name. So elements in which most letters are of such a script are marked; code
does not count.
"""

import re

_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_CODE_OR_TAG = re.compile(r"<code\b.*?</code>|<[^>]*>", re.DOTALL)
# An element up to its end or to the start of another block element.
_ELEMENT = re.compile(
    r"<(p|li|h[1-6]|td|th)((?: [^>]*)?)>"
    r"(?=((?:[^<]|<(?!/?(?:p|li|ul|ol|h[1-6]|td|th|blockquote|pre|table|div)\b))*))"
)


def runs_right_to_left(html: str) -> bool:
    """Return whether most letters outside code are of a right-to-left script."""
    if not _RIGHT_TO_LEFT.search(html):
        return False
    text = _CODE_OR_TAG.sub("", html)
    return 2 * len(_RIGHT_TO_LEFT.findall(text)) > sum(map(str.isalpha, text))


def with_directions(html: str) -> str:
    """Return the HTML of a block with `dir="rtl"` on each element that runs right to left."""
    if not _RIGHT_TO_LEFT.search(html):
        return html
    return _ELEMENT.sub(_mark_element, html)


def _mark_element(element: re.Match[str]) -> str:
    tag, attributes, inside = element.groups()
    mark = ' dir="rtl"' if runs_right_to_left(inside) else ""
    return f"<{tag}{attributes}{mark}>"
