"""Renders code blocks: their HTML, and syntax colours once they are finished.

An open fence is escaped text inside the same elements as the finished block, so that nothing jumps
when the colours arrive.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from . import budgets
from .allowed import COLOURS, LANGUAGE
from .characters import escape

CLOSING_TAGS = "</code></pre></div>"
CODE_BEGINS = re.compile(r"(?:`{3}|~{3})[`~]*[ \t]*[^\s`~]")  # a fence that may name a language
_LANGUAGE = re.compile(LANGUAGE)

Kind = tuple[str, ...]  # of a token, named by Pygments from general to specific


def opening_tags(info: str) -> str:
    """Return the tags before the code, given the fence's info string (`python`, `c++ title=x`)."""
    language = parse_language(info)
    if not language:
        return '<div class="code"><pre dir="ltr" tabindex="0"><code>'
    return (
        f'<div class="code" data-language="{language}"><pre dir="ltr" tabindex="0">'
        f'<code class="language-{language}">'
    )


def parse_language(info: str) -> str:
    """Return the first word of the info string if it could name a language, otherwise ""."""
    words = info.split(None, 1)
    match = _LANGUAGE.match(words[0]) if words else None
    return match[0] if match else ""


def has_colours(code: str, language: str) -> bool:
    """Return whether `highlight` does more than escape the code."""
    return language.lower() in _KNOWN_LANGUAGES and len(code) <= budgets.MAX_COLOURED_LENGTH


def escape_code(code: str, _language: str) -> str:
    """Return the code as HTML without colours."""
    return escape(code)


def highlight(code: str, language: str) -> str:
    """Return the code as HTML, coloured if its language is known and it is not too long.

    A lexer may take very long, so never call this in a process that has anything else to do.
    """
    lexer = (
        _lexer(language.lower()) if language and len(code) <= budgets.MAX_COLOURED_LENGTH else None
    )
    if lexer is None:
        return escape(code)
    tokens = [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(code)]
    if "".join(value for _, value in tokens) != code:
        return escape(code)  # the lexer has changed the text, which matters more than its colours
    return "".join(_spans(tokens))


def _spans(tokens: Iterable[tuple[Kind, str]]) -> Iterable[str]:
    for kind, value in tokens:
        name = _find_class(kind)
        yield f'<span class="{name}">{escape(value)}</span>' if name else escape(value)


@lru_cache(maxsize=1024)
def _find_class(kind: Kind) -> str:
    """Return the CSS class of the kind, or of its nearest ancestor that the style sheet knows."""
    while kind and kind not in _CLASSES_BY_KIND:
        kind = kind[:-1]
    return _CLASSES_BY_KIND.get(kind, "")


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    if language not in _KNOWN_LANGUAGES:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


# fmt: off
# Commonly used languages. An allow-list, since some of Pygments' five hundred lexers take very long
# on hostile input.
_KNOWN_LANGUAGES = {
    "asm", "bash", "bat", "c", "c#", "c++", "clojure", "cmake", "console", "cpp", "cs", "csharp",
    "css", "dart", "diff", "django", "docker", "dockerfile", "elixir", "erlang", "fish",
    "fortran", "fsharp", "go", "golang", "gradle", "graphql", "groovy", "haskell", "hcl", "hs",
    "html", "http", "ini", "java", "javascript", "jinja", "jinja2", "js", "json", "jsonc", "jsx",
    "julia", "kotlin", "kt", "latex", "less", "lisp", "lua", "make", "makefile", "markdown",
    "matlab", "md", "mysql", "nginx", "nix", "objective-c", "ocaml", "octave", "patch", "perl",
    "php", "pl", "postgresql", "powershell", "proto", "protobuf", "ps1", "py", "py3", "pycon",
    "python", "python3", "r", "rb", "rs", "rst", "ruby", "rust", "sass", "scala", "scheme",
    "scss", "sh", "shell", "shell-session", "sql", "sqlite3", "svg", "swift", "tcl", "terraform",
    "tex", "tf", "toml", "ts", "tsx", "typescript", "vb", "vim", "vue", "wasm", "xml", "xslt",
    "yaml", "yml", "zig", "zsh",
}
# fmt: on
_CLASSES_BY_KIND: dict[Kind, str] = {
    kind: name for kind, name in STANDARD_TYPES.items() if name in COLOURS
}
