"""The relationships between the parts of an Office Open XML file (ECMA-376, part 2)."""

from dataclasses import dataclass
from posixpath import basename, dirname, join, normpath
from urllib.parse import unquote

from .archive import Archive
from .xml import children, parse_xml


@dataclass(frozen=True)
class Relationship:
    kind: str  # the last word of its type, such as "hyperlink"
    target: str  # the name of a part, or a URL
    is_external: bool


def relationships(archive: Archive, part: str = "") -> dict[str, Relationship]:
    """Return the relationships of a part, or of the whole file, by their ids."""
    name = join(dirname(part), "_rels", f"{basename(part)}.rels")
    if name not in archive:
        return {}
    by_id = {}
    for each in children(parse_xml(archive.part(name)), "Relationship"):
        target, is_external = each.get("Target", ""), each.get("TargetMode") == "External"
        if not is_external:
            target = normpath(join("/", dirname(part), target)).lstrip("/")
            target = target if target in archive else unquote(target)
        kind = each.get("Type", "").rpartition("/")[2]
        by_id[each.get("Id", "")] = Relationship(kind, target, is_external)
    return by_id


def find_related_part(archive: Archive, part: str, kind: str) -> str:
    """Return the name of the related part of a kind that is in the archive, or an empty string."""
    return next(iter(list_related_parts(archive, part, kind)), "")


def list_related_parts(archive: Archive, part: str, kind: str) -> list[str]:
    return [
        each.target
        for each in relationships(archive, part).values()
        if each.kind == kind and not each.is_external and each.target in archive
    ]
