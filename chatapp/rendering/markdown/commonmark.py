"""Calls cmark-gfm, which renders Markdown to HTML without raw HTML.

The calls hold the GIL, which multimark's own functions release a dozen times for each text. While
other threads render pages, the event loop got it back only milliseconds later each time: next to
two such threads, a short text took 12 ms at the 99th percentile, and takes 0.1 ms this way.

cmark also keeps the characters that its extensions look for in one table per process, filled and
emptied within `cmark_parser_finish`: when threads met there, one text in twenty lost its links and
its strikethrough. Text that is rendered in place is short enough to hold the GIL: see `budgets`.
"""

import ctypes
from typing import Any

from multimark import Options
from multimark._binding import ffi, lib  # type: ignore[import-not-found]
from multimark._cmark import _get_extension

# `~5` means "about five", so only two tildes strike through.
_OPTIONS = int(Options.STRIKETHROUGH_DOUBLE_TILDE)


def _pointer(thing: object) -> int:
    return int(ffi.cast("uintptr_t", thing))


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of the library that holds the GIL during its calls."""
    return ctypes.PYFUNCTYPE(result, *arguments)(_pointer(ffi.addressof(lib, name)))


_Pointer = ctypes.c_void_p
_new = _function("cmark_parser_new", _Pointer, ctypes.c_int)
_attach = _function("cmark_parser_attach_syntax_extension", ctypes.c_int, _Pointer, _Pointer)
_feed = _function("cmark_parser_feed", None, _Pointer, ctypes.c_char_p, ctypes.c_size_t)
_finish = _function("cmark_parser_finish", _Pointer, _Pointer)
_get_parser_extensions = _function("cmark_parser_get_syntax_extensions", _Pointer, _Pointer)
_render = _function("cmark_render_html", _Pointer, _Pointer, ctypes.c_int, _Pointer)
_free = _function("free", None, _Pointer)
_free_node = _function("cmark_node_free", None, _Pointer)
_free_parser = _function("cmark_parser_free", None, _Pointer)
_EXTENSIONS = [
    _pointer(_get_extension(name)) for name in ("table", "strikethrough", "autolink", "tasklist")
]


def to_html(source: str) -> str:
    """Render Markdown to HTML. The source must not contain raw HTML, which becomes a comment."""
    text = source.encode()
    parser = _new(_OPTIONS)
    for extension in _EXTENSIONS:
        _attach(parser, extension)
    _feed(parser, text, len(text))
    document = _finish(parser)
    html = _render(document, _OPTIONS, _get_parser_extensions(parser))
    try:
        return ctypes.string_at(html).decode()
    finally:
        _free(html)
        _free_node(document)
        _free_parser(parser)
