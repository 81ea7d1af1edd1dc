"""The complete list of what HTML made from untrusted text may contain.

It lists each tag with its attributes, and each attribute with a pattern for its whole value.
Nothing else passes, and no attribute is allowed on all tags. The cleaner is built from this list,
and the tests parse the renderer's output and compare it with this list.

No value is free text: htmx replaces `<hx-…` anywhere in a response, even inside an attribute, and
code that reads HTML by its tags may rely on values that contain none. That is why links have no
`title`.
"""

import re

import nh3

SCHEMES = frozenset({"http", "https", "mailto"})
REL = "noopener noreferrer nofollow"
LANGUAGE = r"[A-Za-z0-9+#._-]{1,32}"  # the name of a language after a fence
# fmt: off
COLOURS = frozenset({  # the classes of Pygments that static/css/thread/code.css styles
    "k", "kc", "kt", "nb", "bp", "nc", "nf", "nd", "nt", "na", "nv", "ne", "s", "sr", "se", "si",
    "m", "c", "cp", "gd", "gi", "gh", "gu",
})
# fmt: on
_MAX_COLUMNS = 50  # of a formula's table; each may have classes for its lines

Attributes = dict[str, re.Pattern[str]]


def _bare(tags: str) -> dict[str, Attributes]:
    return {tag: {} for tag in tags.split()}


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _compile_words(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


def _compile_list(pattern: str) -> re.Pattern[str]:
    return re.compile(f"(?:{pattern})(?: (?:{pattern})){{0,{_MAX_COLUMNS}}}")


# cmark percent-encodes all other characters of a URL. A user name before the host looks like it.
_ADDRESS = _form(r"(?i:https?://(?![^/?#]*@)|mailto:)[A-Za-z0-9\-._~!$&'()*+,;=:/?#@%\[\]]*")
_RIGHT_TO_LEFT = _compile_words("rtl")
_ALIGN = _compile_words("left", "center", "right")
_TRUE = _compile_words("true")
_BOOLEAN = _compile_words("true", "false")
_EMPTY = _form("")
_FOCUSABLE = _compile_words("0")

# Short, so that a formula can't cover the text around it.
_TENTHS = r"(?:\.[0-9]{1,9})?"
_SHIFT = rf"-?[0-9]?{_TENTHS}(?:em|ex)|0"
_LENGTH = rf"[0-9]{{0,2}}{_TENTHS}(?:em|ex|rem|pt)|0"
# Styled by static/css/thread/formulas.css.
_CLASSES = _compile_list(
    "tex-(?:left|right|flush-left|flush-right|condition|between-lines|tight|continued|wide|margin"
    "|cramped|back-thin|back-medium|back-thick|(?:solid|dashed)-(?:top|right|left)"
    "|bold|italic|code|sans)"
)
_STYLED: Attributes = {
    "class": _CLASSES,
    "displaystyle": _BOOLEAN,
    "scriptlevel": _compile_words("0", "1", "2", "3"),
}

PROSE: dict[str, Attributes] = {
    **_bare("br hr ul label blockquote summary table thead tbody tr"),
    **_bare("em strong del kbd sub sup b i u s mark small"),
    **{tag: {"dir": _RIGHT_TO_LEFT} for tag in ("h3", "h4", "h5", "h6", "li")},
    "a": {"href": _ADDRESS, "target": _compile_words("_blank"), "rel": _compile_words(REL)},
    "code": {"class": _form(f"language-{LANGUAGE}")},
    "details": {"open": _EMPTY},
    "div": {
        "class": _compile_words("block", "code", "table-scroll", "typed"),
        "data-language": _form(LANGUAGE),
        "dir": _compile_words("auto", "rtl"),
        "tabindex": _FOCUSABLE,
        "role": _compile_words("group"),
        "aria-label": _compile_words("Table"),
    },
    "input": {"type": _compile_words("checkbox"), "checked": _EMPTY, "disabled": _EMPTY},
    "ol": {"start": _form("[0-9]{1,9}")},
    "p": {
        "class": _compile_words("as-written"),
        "dir": _RIGHT_TO_LEFT,
    },  # the class is for our notices
    "pre": {
        "class": _compile_words("plain"),
        "dir": _compile_words("auto", "ltr"),
        "tabindex": _FOCUSABLE,
    },
    "span": {"class": _compile_words(*sorted(COLOURS))},
    "td": {"align": _ALIGN, "dir": _RIGHT_TO_LEFT},
    "th": {"align": _ALIGN, "dir": _RIGHT_TO_LEFT},
}

# The MathML that `tex` makes from math-core's, without colours and links.
MATHML: dict[str, Attributes] = {
    **_bare("mn mroot msqrt mphantom msub msup msubsup munderover mtr mmultiscripts mprescripts"),
    "mrow": _STYLED,
    "math": {"display": _compile_words("block", "inline")},
    "menclose": {"notation": _compile_list("box|actuarial|downdiagonalstrike|updiagonalstrike")},
    "mfrac": {"linethickness": _form(_LENGTH), **_STYLED},
    "mi": {"mathvariant": _compile_words("normal")},
    "mo": {
        "form": _compile_words("prefix", "infix", "postfix"),
        "lspace": _form(_LENGTH),
        "rspace": _form(_LENGTH),
        "largeop": _TRUE,
        "maxsize": _form(_LENGTH),
        "minsize": _form(_LENGTH),
        "movablelimits": _BOOLEAN,
        "stretchy": _BOOLEAN,
        "symmetric": _TRUE,
    },
    "mover": {"accent": _TRUE},
    "munder": {"accentunder": _TRUE},
    "mpadded": {
        "class": _CLASSES,
        "height": _compile_words("0"),
        "voffset": _form(_SHIFT),
        "width": _compile_words("0"),
    },
    "mspace": {"class": _CLASSES, "width": _form(_LENGTH)},
    "mtable": _STYLED,
    "mtd": {"class": _CLASSES, "columnspan": _compile_words(str(_MAX_COLUMNS))},
    "mtext": {"class": _CLASSES},
}

ALLOWED = PROSE | MATHML


def cleaner(tags: dict[str, Attributes]) -> nh3.Cleaner:
    """Return a cleaner that only passes what `tags` list; links open in a new tab."""

    def allowed_value(tag: str, attribute: str, value: str) -> str | None:
        form = tags.get(tag, {}).get(attribute)  # nh3 also asks for tags that it will remove
        return value if form and form.fullmatch(value) else None

    # `rel`, and `disabled` on checkboxes, are always set, so the text's own are not allowed.
    attributes = {tag: set(forms) for tag, forms in tags.items()} | {"*": set()}
    links = "a" in tags
    if links:
        attributes["a"] = {"href"}
        attributes["input"] = {"type", "checked"}
    always = {"a": {"target": "_blank"}, "input": {"disabled": ""}} if links else None
    return nh3.Cleaner(
        tags=set(tags),
        attributes=attributes,
        attribute_filter=allowed_value,
        set_tag_attribute_values=always,
        link_rel=REL if links else None,
        url_schemes=set(SCHEMES),
        url_relative="deny",
    )
