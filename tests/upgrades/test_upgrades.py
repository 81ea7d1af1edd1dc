"""Each older version's data survive an upgrade and a restore, on both databases.

The data were made by the old code itself (`make_data`). What it showed is compared with what
today's code shows.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.support.live import Site, run
from tests.upgrades.databases import new_database
from tests.upgrades.make_data import DATA, SHOW

NAMES = sorted(file.stem for file in DATA.glob("*.json"))
# The usage of an interrupted reply is booked, and its hold on budgets ends.
CHANGED_BY_AN_INTERRUPTION = ("BudgetAccount", "BudgetHold", "ConversationFacet", "usage")
OF_PROCESSES = {"Process", "TemporaryHold"}
RENAMED = {"image_days": "file_days"}  # fields of tables
Environment = dict[str, str]
Json = dict[str, Any]
CHECK = """
import sys
from django.core.management import call_command
from django.db import connection
from chatapp.doctor.database import database
call_command("audit", "verify", stdout=sys.stderr)
call_command("usage", "verify", stdout=sys.stderr)
for result in database(connection):
    print(result.status.name, result, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def static(site: Site) -> Path:
    return Path(site.copy()["DATA_DIR"], "static").readlink()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path, static: Path) -> Iterator[Environment]:
    """An installation without a database, or with an empty one on PostgreSQL."""
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    (data_dir / "static").symlink_to(static)
    environment = {"DATA_DIR": str(data_dir)}
    if request.param == "sqlite":
        yield environment
        return
    with new_database() as url:
        yield environment | {"DATABASE_URL": url}


@pytest.mark.parametrize("name", NAMES)
def test_an_upgrade_keeps_what_people_see(name: str, empty: Environment) -> None:
    unpack(archive(name, empty), empty)
    done = run(empty, "manage.py", "upgrade", check=False)
    assert done.returncode == 0, done.stderr
    before = load_sections(name, empty)
    differences = find_differences(before["shown"], show(empty, before["keys"]))
    assert not differences, json.dumps(differences, indent=1)


@pytest.mark.parametrize("name", NAMES)
def test_a_restored_backup_shows_what_people_saw(name: str, empty: Environment) -> None:
    done = run(empty, "manage.py", "restore", str(archive(name, empty)), check=False)
    assert done.returncode == 0, done.stderr
    before = load_sections(name, empty)
    after = show(empty, before["keys"])
    differences = find_differences(interrupt(before["shown"]), after)
    for section in CHANGED_BY_AN_INTERRUPTION:
        differences.get(section, {}).pop("new", None)
    differences = {
        section: changes for section, changes in differences.items() if any(changes.values())
    }
    assert not differences, json.dumps(differences, indent=1)


def vendor(environment: Environment) -> str:
    return "postgresql" if "DATABASE_URL" in environment else "sqlite"


def archive(name: str, environment: Environment) -> Path:
    return DATA / f"{name}.{vendor(environment)}.zip"


def unpack(archive: Path, environment: Environment) -> None:
    """Put the data in place without today's `restore`."""
    data_dir = Path(environment["DATA_DIR"])
    with ZipFile(archive) as members:
        for member in members.namelist():
            if member.startswith("files/"):
                target = data_dir / member.removeprefix("files/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(members.read(member))
                target.chmod(0o600)
        database = members.read("database")
    if url := environment.get("DATABASE_URL"):
        restore = ["pg_restore", "--exit-on-error", "--no-owner", f"--dbname={url}"]
        subprocess.run(restore, input=database, check=True)
    else:
        (data_dir / "chatapp.sqlite3").write_bytes(database)


def load_sections(name: str, environment: Environment) -> Json:
    """Return what the old code showed, and the secrets with which it did so."""
    sections: Json = json.loads((DATA / f"{name}.json").read_text())[vendor(environment)]
    return sections


def show(environment: Environment, keys: dict[str, str]) -> Json:
    """Return what today's code shows, and fail if it finds something wrong with the database."""
    done = run(environment, "-c", SHOW.read_text() + CHECK, json.dumps(keys))
    assert "all triggers are those of this version" in done.stderr
    assert "\nFAILED" not in done.stderr, done.stderr
    sections: Json = json.loads(done.stdout)
    return sections


def interrupt(sections: Json) -> Json:
    """Return what was shown, as if the replies that were streaming had been interrupted."""
    chats = json.loads(json.dumps(sections["chats"]).replace('"streaming"', '"interrupted"'))
    budgets = ("BudgetAccount", "BudgetHold")
    settled = {name: [row for row in sections[name] if not row["held"]] for name in budgets}
    rows = {name: count for name, count in sections["rows"].items() if name not in OF_PROCESSES}
    return {**sections, **settled, "chats": chats, "rows": rows}


def find_differences(before: Json, after: Json) -> Json:
    """Return what is lost and what is new in each section, without what every upgrade adds."""
    after["audit log"] = after["audit log"][: len(before["audit log"])]
    fewer = {
        name for name, count in before.pop("rows").items() if after["rows"].get(name, count) < count
    }
    differences: Json = {"rows": {"fewer": sorted(fewer)}} if fewer else {}
    for section, content in before.items():
        missing, new = compare(content, after[section])
        if missing or new:
            differences[section] = {"lost": missing, "new": new}
    return differences


def compare(before: Any, after: Any) -> tuple[list[object], list[object]]:
    """Return the items of two lists or objects that are in one of them only."""
    if isinstance(before, dict):
        before, after = ([[name, content[name]] for name in before] for content in (before, after))
    elif before and isinstance(before[0], dict):
        fields = before[0].keys()  # later versions have more
        after = [{name: row[RENAMED.get(name, name)] for name in fields} for row in after]
    missing = [item for item in before if before.count(item) > after.count(item)]
    return missing, [item for item in after if after.count(item) > before.count(item)]
