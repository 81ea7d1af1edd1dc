"""cmark-gfm: Markdown to HTML without raw HTML.

The library keeps the characters that its extensions look for in one table of the process, filled
when a text is begun and emptied when it is done; and its binding lets go of the interpreter's lock
meanwhile. Of two texts at once, the loop's and a page thread's, one lost its links and its struck
words (one of twenty did, with four threads). So it is one at a time.
"""

from multimark import Options, markdown_to_html

from chatapp.fairness.threads import InTurn

_EXTENSIONS = ("table", "strikethrough", "autolink", "tasklist")
# `~5` is "about five": only two tildes strike through.
_OPTIONS = int(Options.STRIKETHROUGH_DOUBLE_TILDE)
_ONE_AT_A_TIME = InTurn()


def to_html(source: str) -> str:
    """The HTML of a Markdown text. Raw HTML in it becomes a comment, so have none in it."""
    with _ONE_AT_A_TIME:
        return markdown_to_html(source, extensions=_EXTENSIONS, options=_OPTIONS)
