"""Inlines included templates when a template is compiled.

Jinja2 looks up an included template and makes a context for it at every rendering. For a reply,
with its eight small partials, that took a quarter of the time.
"""

import re

from jinja2.ext import Extension

INCLUDE = re.compile(r'\{% include "([^"]+)" %\}')
# Wrapped in a block, so that white space at its edges is treated as at the edges of a file.
INLINED = "{{% if true %}}{}{{% endif %}}"


class WithIncludes(Extension):
    """A Jinja2 extension that replaces `{% include "name" %}` with that template's source."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        loader = self.environment.loader
        assert loader

        def inline_template(match: re.Match[str]) -> str:
            text, *_ = loader.get_source(self.environment, match[1])
            return INLINED.format(self.preprocess(text.strip(), match[1]))

        return INCLUDE.sub(inline_template, source)
