"""Labels of plain text by the file's name, such as "Python" for `.py`."""

from dataclasses import replace
from pathlib import PurePosixPath

from .results import Document, Result

LABELS = {
    "Text": "txt log",
    "Markdown": "md markdown mdown mkd",
    "CSV": "csv tsv tab",
    "HTML": "htm html xhtml",
    "SVG": "svg",
    "XML": "xml xsd xsl xslt rss atom plist",
    "JSON": "json jsonl ndjson geojson ipynb",
    "YAML": "yaml yml",
    "TOML": "toml",
    "INI": "ini cfg conf",
    "Python": "py pyi pyw",
    "JavaScript": "js mjs cjs jsx",
    "TypeScript": "ts tsx mts cts",
    "CSS": "css scss sass less",
    "SQL": "sql",
    "Shell": "sh bash zsh fish",
    "PowerShell": "ps1 psm1",
    "C": "c h",
    "C++": "cc cpp cxx hh hpp hxx",
    "C#": "cs",
    "Go": "go",
    "Rust": "rs",
    "Java": "java",
    "Kotlin": "kt kts",
    "Swift": "swift",
    "Scala": "scala",
    "Ruby": "rb",
    "PHP": "php",
    "Perl": "pl pm",
    "Lua": "lua",
    "R": "r",
    "Julia": "jl",
    "Haskell": "hs",
    "Elixir": "ex exs",
    "Dart": "dart",
    "LaTeX": "tex bib",
    "reStructuredText": "rst",
    "Diff": "diff patch",
    "Subtitles": "srt vtt",
}
BY_EXTENSION = {
    f".{extension}": label
    for label, extensions in LABELS.items()
    for extension in extensions.split()
}
MEDIA_TYPES = {"Markdown": "text/markdown", "CSV": "text/csv"}


def refine_label(result: Result, name: str) -> Result:
    """Return the result with its label refined by the name, if it is plain text."""
    if not (isinstance(result, Document) and result.media_type == "text/plain"):
        return result
    label = BY_EXTENSION.get(PurePosixPath(name[-255:]).suffix.lower(), result.kind)
    return replace(result, kind=label, media_type=MEDIA_TYPES.get(label, result.media_type))
