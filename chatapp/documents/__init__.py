"""Reads attached files: text documents, and images.

`read` judges what a file is by its content, and returns its text or its image; `draw_page` returns
a page of a PDF as people see it, and `draw_pages` pictures of several. The file is parsed in a
sandboxed subprocess, which ends after it. No name decides how a file is read, and only images that
were encoded again are returned as images.

`reading` starts the subprocess and checks its answer, `sandbox` is what runs in the subprocess, and
`formats` has a module for each format. Imports neither Django nor anything else of the app.
"""

from .reading import draw_page, draw_pages, read, stop
from .results import (
    Document,
    DrawnPage,
    LeftOut,
    Limits,
    Picture,
    PlacedPicture,
    ReadableLater,
    Run,
    Scan,
    Unreadable,
)

__all__ = [
    "Document",
    "DrawnPage",
    "LeftOut",
    "Limits",
    "Picture",
    "PlacedPicture",
    "ReadableLater",
    "Run",
    "Scan",
    "Unreadable",
    "draw_page",
    "draw_pages",
    "read",
    "stop",
]
