"""Bundle JavaScript modules into one script, and style sheets into one: text in, text out.

The page names an entry (`static/js/chat.js`, `static/css/chat.css`) that imports what it needs.
While DEBUG is on the browser follows the imports. The collected entry contains them all, since a
page of sixty files would wait for sixty responses, each too small to compress well. A module that
is imported lazily, by `import("./…")`, becomes a script of its own.

A module becomes a function that is called immediately and returns its exports. Only the forms of
`import` and `export` that our modules use are supported, which need no parser; others are refused.
"""

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath, relpath

Read = Callable[[str], str]  # returns the text of the file with this name, such as js/chat.js

_FILE = r'"(?P<file>\.\.?/[^"]+)"'
_IMPORT = re.compile(rf"^import\s+(?:\{{(?P<names>[^}}]*)\}}\s*from\s*)?{_FILE};$", re.M)
_LATER = re.compile(rf"\bimport\({_FILE}\)")
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (?P<name>\w+))", re.M)
_OTHER = re.compile(r"^(?:import|export)\b.*|^.*\bimport(?:\(|\.meta\b).*", re.M)
_STYLES = re.compile(r'^@import "(?P<file>[^"]+)";\n', re.M)
_URL = re.compile(r'\burl\("(?P<file>\.\.?/[^"]+)"\)')

_MODULES = "globalThis.$modules"  # the exports of each module, shared by all scripts


def scripts(entry: str, read: Read) -> dict[str, str]:
    """Return the bundled scripts by name: the entry and each lazily imported module.

    A script contains the modules it imports, in the order in which a browser would run them. Raises
    `ValueError` for an import cycle or an unsupported form.
    """
    at_once = list(_in_order(entry, read, _IMPORT))
    scripts_by_name: dict[str, str] = {}
    pending = [entry]
    while pending:
        name = pending.pop()
        modules = [
            file_name for file_name in _in_order(name, read, _IMPORT) if file_name not in at_once
        ]
        modules = at_once if name == entry else modules
        functions = "".join(_function(module, read(module), name) for module in modules)
        scripts_by_name[name] = f"{_head(name == entry)}{functions}{_exports(name, read(name))}"
        later = [
            _beside(module, match["file"])
            for module in modules
            for match in _LATER.finditer(read(module))
        ]
        pending += [file_name for file_name in later if file_name not in scripts_by_name]
    return scripts_by_name


def styles(entry: str, read: Read) -> dict[str, str]:
    """Return the entry's style sheet by name, with each import replaced by its content.

    What a sheet refers to is named relative to the entry that contains it.
    """

    def content(name: str) -> str:
        def rename(match: re.Match[str]) -> str:
            return f'url("{relpath(_beside(name, match["file"]), dirname(entry))}")'

        return _URL.sub(rename, _STYLES.sub("", read(name)))

    return {entry: "".join(map(content, _in_order(entry, read, _STYLES)))}


def _in_order(
    name: str, read: Read, imports: re.Pattern[str], above: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield each file once, after the files it imports."""
    if name in above:
        raise ValueError(f"{name} imports itself by way of {' and '.join(above)}.")
    seen: set[str] = set()
    for match in imports.finditer(read(name)):
        for file_name in _in_order(_beside(name, match["file"]), read, imports, (*above, name)):
            if file_name not in seen:
                yield file_name
            seen.add(file_name)
    yield name


def _head(is_first: bool) -> str:
    return f"const $ = {_MODULES}{' = {}' if is_first else ''};\n"


def _function(name: str, text: str, script: str) -> str:
    """Return the module as a function call, skipped if an earlier script has run it.

    What it imports lazily is named relative to the script that contains it.
    """

    def import_later(match: re.Match[str]) -> str:
        file_name = relpath(_beside(name, match["file"]), dirname(script))
        return f'import("{file_name if file_name.startswith(".") else f"./{file_name}"}")'

    plain = _EXPORT.sub("", _IMPORT.sub(lambda match: _import(name, match), text))
    if other := _OTHER.search(_LATER.sub("", plain)):
        raise ValueError(f"{name} can't be bundled, because it contains: {other[0]}")
    plain = _LATER.sub(import_later, plain)
    return f"{_variable(name)} ??= (() => {{\n{plain}return {{ {_list_exports(text)} }};\n}})();\n"


def _import(name: str, match: re.Match[str]) -> str:
    """Return an import statement as an assignment from a module that has already run."""
    if match["names"] is None:
        return ""
    names = re.sub(r"(\w+) as (\w+)", r"\1: \2", match["names"])
    return f"const {{{names}}} = {_variable(_beside(name, match['file']))};"


def _exports(name: str, text: str) -> str:
    """Return the export statement for those who import the script itself."""
    export_names = _list_exports(text)
    return f"export const {{ {export_names} }} = {_variable(name)};\n" if export_names else ""


def _list_exports(text: str) -> str:
    return ", ".join(match["name"] for match in _EXPORT.finditer(text))


def _beside(name: str, file: str) -> str:
    return normpath(join(dirname(name), file))


def _variable(name: str) -> str:
    return "$." + re.sub(r"\W", "_", name.removesuffix(".js"))
