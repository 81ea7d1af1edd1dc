"""cmark-gfm: Markdown to HTML without raw HTML, through cmarkgfm's own compiled library.

cmarkgfm's Python functions never free the tree and the HTML that cmark gives them (12 KB a
call), so the same calls are made here, with the freeing that belongs to them.
"""

import ctypes
from typing import Any

from cmarkgfm import Options, cmark

_lib, _ffi = cmark._cmark.lib, cmark._cmark.ffi
_lib.cmark_gfm_core_extensions_ensure_registered()
_EXTENSIONS = [
    _lib.cmark_find_syntax_extension(name)
    for name in (b"table", b"strikethrough", b"autolink", b"tasklist")
]
# `~5` is "about five": only two tildes strike through.
_OPTIONS = Options.CMARK_OPT_STRIKETHROUGH_DOUBLE_TILDE

# Two functions that cmarkgfm has compiled in but does not offer.
_native = ctypes.CDLL(cmark._cmark.__file__)
for _function in (_native.cmark_node_free, _native.free):
    _function.argtypes, _function.restype = [ctypes.c_void_p], None


def to_html(source: str) -> str:
    """The HTML of a Markdown text. Raw HTML in it becomes a comment, so have none in it."""
    utf8 = source.encode()
    parser = _lib.cmark_parser_new(_OPTIONS)
    try:
        for extension in _EXTENSIONS:
            _lib.cmark_parser_attach_syntax_extension(parser, extension)
        _lib.cmark_parser_feed(parser, utf8, len(utf8))
        return _write_and_free(_lib.cmark_parser_finish(parser), parser)
    finally:
        _lib.cmark_parser_free(parser)


def _write_and_free(root: Any, parser: Any) -> str:
    extensions = _lib.cmark_parser_get_syntax_extensions(parser)
    html = _lib.cmark_render_html(root, _OPTIONS, extensions)
    try:
        text: str = _ffi.string(html).decode()
        return text
    finally:
        _native.free(int(_ffi.cast("uintptr_t", html)))
        _native.cmark_node_free(int(_ffi.cast("uintptr_t", root)))
