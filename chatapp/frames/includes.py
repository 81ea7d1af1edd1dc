"""What a template includes stands in it when it is compiled.

Jinja2 looks an included template up each time it is drawn, and makes a context for it: of a reply,
with its eight small partials, that took a quarter.
"""

import re

from jinja2.ext import Extension

INCLUDE = re.compile(r'\{% include "([^"]+)" %\}')
# A block, as the included one was: so layout is told apart at its edges as at a file's.
PLACE = "{{% if true %}}{}{{% endif %}}"


class WithIncludes(Extension):
    """Jinja2's hook: the source of a template, with those that it includes by their names."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        loader = self.environment.loader
        assert loader

        def included(match: re.Match[str]) -> str:
            text, *_ = loader.get_source(self.environment, match[1])
            return PLACE.format(self.preprocess(text.strip(), match[1]))

        return INCLUDE.sub(included, source)
