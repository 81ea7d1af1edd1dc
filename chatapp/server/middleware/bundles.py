"""One script of a page's modules, and one style sheet of those it imports: text to text.

An entry imports what its page needs (`static/js/chat.js`, `static/css/chat.css`), and is what the
page names. While DEBUG is on a browser follows the imports; what is collected holds all of them,
since a page of sixty files waits for sixty answers, none of which is large enough to compress well.
A module that another imports by `import("./…")`, when it is first used, is a script of its own.

A module becomes a function that is called at once and returns what it exports. So only those forms
may stand in a module that need no parser, which are all that ours use; any other is refused.
"""

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath

Read = Callable[[str], str]  # what stands in the file of this name, such as js/chat.js

_IMPORT = re.compile(r'^import\s+(?:\{(?P<names>[^}]*)\}\s*from\s*)?"(?P<file>\./[^"]+)";$', re.M)
_LATER = re.compile(r'\bimport\("(?P<file>\./[^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (?P<name>\w+))", re.M)
_OTHER = re.compile(r"^(?:import|export)\b.*|^.*\bimport(?:\(|\.meta\b).*", re.M)
_STYLES = re.compile(r'^@import "(?P<file>[^"]+)";\n', re.M)

_MODULES = "globalThis.$modules"  # where scripts find what ran in another


def scripts(entry: str, read: Read) -> dict[str, str]:
    """By name: the entry with the modules behind it, in the order in which a browser would run
    them, and each module that one of these imports later."""
    at_once = list(_in_order(entry, read, _IMPORT))
    made: dict[str, str] = {}
    wanted = [entry]
    while wanted:
        name = wanted.pop()
        modules = [one for one in _in_order(name, read, _IMPORT) if one not in at_once]
        modules = at_once if name == entry else modules
        functions = "".join(_function(one, read(one)) for one in modules)
        made[name] = f"{_head(name == entry)}{functions}{_exports(name, read(name))}"
        later = [
            _beside(one, found["file"]) for one in modules for found in _LATER.finditer(read(one))
        ]
        wanted += [one for one in later if one not in made]
    return made


def styles(entry: str, read: Read) -> dict[str, str]:
    """By name: the style sheets behind the entry, each in the place of its import, and itself."""
    return {entry: "".join(_STYLES.sub("", read(one)) for one in _in_order(entry, read, _STYLES))}


def _in_order(
    name: str, read: Read, imports: re.Pattern[str], above: tuple[str, ...] = ()
) -> Iterator[str]:
    """Each file once, after what it imports."""
    if name in above:
        raise ValueError(f"{name} imports itself by {' and '.join(above)}.")
    seen: set[str] = set()
    for found in imports.finditer(read(name)):
        for one in _in_order(_beside(name, found["file"]), read, imports, (*above, name)):
            if one not in seen:
                yield one
            seen.add(one)
    yield name


def _head(is_first: bool) -> str:
    return f"const $ = {_MODULES}{' = {}' if is_first else ''};\n"


def _function(name: str, text: str) -> str:
    """A module, unless a script that came before had it, too."""
    plain = _EXPORT.sub("", _IMPORT.sub(lambda found: _taken(name, found), text))
    if other := _OTHER.search(_LATER.sub("", plain)):
        raise ValueError(f"{name} can't be bundled, for what stands in it: {other[0]}")
    return f"{_place(name)} ??= (() => {{\n{plain}return {{ {_exported(text)} }};\n}})();\n"


def _taken(name: str, found: re.Match[str]) -> str:
    """An import as what it takes of the module that has run already."""
    if found["names"] is None:
        return ""
    names = re.sub(r"(\w+) as (\w+)", r"\1: \2", found["names"])
    return f"const {{{names}}} = {_place(_beside(name, found['file']))};"


def _exports(name: str, text: str) -> str:
    """For whoever imports the script itself."""
    exported = _exported(text)
    return f"export const {{ {exported} }} = {_place(name)};\n" if exported else ""


def _exported(text: str) -> str:
    return ", ".join(found["name"] for found in _EXPORT.finditer(text))


def _beside(name: str, file: str) -> str:
    return normpath(join(dirname(name), file))


def _place(name: str) -> str:
    return "$." + re.sub(r"\W", "_", name.removesuffix(".js"))
