"""cmark-gfm: Markdown to HTML without raw HTML.

The library is called with the interpreter's lock held, which its own binding lets go of a dozen
times for each text. While other threads draw pages, the event loop got it back milliseconds later
each time: a short text took 12 ms beside two of them at the 99th percentile, and takes 0.1 so.

It also keeps the characters that its extensions look for in one table of the process, filled and
emptied within `cmark_parser_finish`: of texts whose threads met there, one of twenty lost its links
and its struck words. What is rendered in place is short enough to hold the lock: see `budgets`.
"""

import ctypes
from typing import Any

from multimark import Options
from multimark._binding import ffi, lib  # type: ignore[import-not-found]
from multimark._cmark import _get_extension

# `~5` is "about five": only two tildes strike through.
_OPTIONS = int(Options.STRIKETHROUGH_DOUBLE_TILDE)


def _pointer(thing: object) -> int:
    return int(ffi.cast("uintptr_t", thing))


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """One that holds the lock."""
    return ctypes.PYFUNCTYPE(result, *arguments)(_pointer(ffi.addressof(lib, name)))


_Pointer = ctypes.c_void_p
_new = _function("cmark_parser_new", _Pointer, ctypes.c_int)
_attach = _function("cmark_parser_attach_syntax_extension", ctypes.c_int, _Pointer, _Pointer)
_feed = _function("cmark_parser_feed", None, _Pointer, ctypes.c_char_p, ctypes.c_size_t)
_finish = _function("cmark_parser_finish", _Pointer, _Pointer)
_extensions_of = _function("cmark_parser_get_syntax_extensions", _Pointer, _Pointer)
_render = _function("cmark_render_html", _Pointer, _Pointer, ctypes.c_int, _Pointer)
_free = _function("free", None, _Pointer)
_free_node = _function("cmark_node_free", None, _Pointer)
_free_parser = _function("cmark_parser_free", None, _Pointer)
_EXTENSIONS = [
    _pointer(_get_extension(name)) for name in ("table", "strikethrough", "autolink", "tasklist")
]


def to_html(source: str) -> str:
    """The HTML of a Markdown text. Raw HTML in it becomes a comment, so have none in it."""
    text = source.encode()
    parser = _new(_OPTIONS)
    for extension in _EXTENSIONS:
        _attach(parser, extension)
    _feed(parser, text, len(text))
    document = _finish(parser)
    html = _render(document, _OPTIONS, _extensions_of(parser))
    try:
        return ctypes.string_at(html).decode()
    finally:
        _free(html)
        _free_node(document)
        _free_parser(parser)
