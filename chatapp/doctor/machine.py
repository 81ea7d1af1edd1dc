"""Check the disk, the permissions of DATA_DIR and the collected static files."""

import filecmp
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import ManifestFilesMixin

from chatapp.checks.disk import find_folder_problem
from chatapp.checks.results import CheckResult, failed, ok, skipped, warning
from chatapp.command_line import MANAGE
from chatapp.server.data_dir import is_open

MIB = 1024 * 1024
FEW = 1024 * MIB  # causes a warning
TOO_FEW = 100 * MIB

_COLLECT = f"Run make upgrade, or {MANAGE} collectstatic --noinput, and restart."


def disk(directory: Path, few: int = FEW, too_few: int = TOO_FEW) -> Iterator[CheckResult]:
    """Check the free space in `directory`; `few` and `too_few` are in bytes."""
    if problem := find_folder_problem(
        directory
    ):  # found by writing, since root ignores permissions
        yield failed("Free disk", *problem)
        return
    usage = shutil.disk_usage(directory)
    finding = f"{_size(usage.free)} of {_size(usage.total)} at {directory}"
    remedy = "Free space there, or move DATA_DIR to a larger disk."
    if usage.free < too_few:
        yield failed("Free disk", finding, remedy)
    elif usage.free < few:
        yield warning("Free disk", finding, remedy)
    else:
        yield ok("Free disk", finding)


def data_dir(directory: Path) -> Iterator[CheckResult]:
    """Check that other users of the machine have no access to `directory`."""
    try:
        mode = directory.stat().st_mode
    except OSError:
        return  # reported by `disk`
    finding = f"{directory}, mode {stat.S_IMODE(mode):04o}"
    if is_open(mode):
        yield failed(
            "Data directory",
            f"{finding}: accessible to every user of this machine",
            f"Run chmod 700 {directory}.",
        )
    else:
        yield ok("Data directory", finding)


def static_files(storage: object, root: Path | None) -> Iterator[CheckResult]:
    """Check that the files collected in `root` are those of this version."""
    try:
        str(storage.__class__)  # makes Django's lazy storage read the manifest
    except OSError as error:
        yield failed("Static files", f"none can be read in {root}: {error.strerror}", _COLLECT)
        return
    if not isinstance(storage, ManifestFilesMixin) or root is None:
        yield skipped("Static files", "served from their sources because DEBUG is on")
        return
    if not storage.hashed_files:
        yield failed("Static files", f"none collected in {root}", _COLLECT)
        return
    sources = dict(_sources())
    stale = [name for name, path in sources.items() if not _is_same(path, root / name)]
    hashed = storage.hashed_files
    stale += [name for name in sources if not (root / hashed.get(name, "-")).is_file()]
    stale = list(dict.fromkeys(stale))
    if stale:
        names = ", ".join(stale[:3]) + (", …" if len(stale) > 3 else "")
        finding = f"{len(stale)} of {len(sources)} are missing or of another version: {names}"
        yield failed("Static files", finding, _COLLECT)
    else:
        yield ok("Static files", f"{len(sources)} collected in {root}")


def _sources() -> Iterator[tuple[str, Path]]:
    """Yield the name and path of each file that collectstatic would collect."""
    seen: set[str] = set()
    for finder in finders.get_finders():
        for path, storage in finder.list([]):
            name = os.path.join(getattr(storage, "prefix", None) or "", path)  # noqa: PTH118
            if name not in seen:
                seen.add(name)
                yield name, Path(storage.path(path))


def _is_same(source: Path, collected: Path) -> bool:
    return collected.is_file() and filecmp.cmp(source, collected, shallow=False)


def _size(count: float) -> str:
    return f"{count / 1024**3:.1f} GiB" if count >= 1024**3 else f"{count / MIB:.0f} MiB"
