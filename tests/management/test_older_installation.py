"""Upgrades of an older installation: the backup before them, and what happens if one fails."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.management.archives import restore
from tests.support.live import Site, child_environment, execute, run
from tests.support.shell import Shell

LAST_BUT_ONE = "0072"
NEXT = "chatapp.0073_imports_for_teams"
# What the last migration makes in each database, with the opposite.
IN_THE_WAY = {
    "sqlite": ("CREATE TABLE new__chatapp_import (id integer)", "DROP TABLE new__chatapp_import"),
    "postgresql": (
        "ALTER TABLE chatapp_import ADD COLUMN source_person integer",
        "ALTER TABLE chatapp_import DROP COLUMN source_person",
    ),
}
COMMAND = """
from django.core.management import CommandError, call_command
try:
    call_command(*{})
except CommandError as error:
    print(error)
"""
Environment = dict[str, str]
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def template(site: Site) -> Environment:
    environment = site.copy()
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", LAST_BUT_ONE)
    return environment


@pytest.fixture
def outdated_installation(site: Site, template: Environment) -> Environment:
    """An installation with people that lacks the last migration."""
    return site.copy(template)


@pytest.fixture
def shell(outdated_installation: Environment) -> Iterator[Shell]:
    """Runs commands in a process that is started once."""
    with closing(Shell(child_environment(outdated_installation))) as shell:
        yield shell


@pytest.fixture
def broken_installation(outdated_installation: Environment) -> Environment:
    """The same, with tables in which the last migration fails."""
    execute(outdated_installation, IN_THE_WAY[vendor(outdated_installation)][0])
    return outdated_installation


def vendor(environment: Environment) -> str:
    return "postgresql" if "DATABASE_URL" in environment else "sqlite"


def manage(environment: Environment, *arguments: str) -> Done:
    return run(environment, "manage.py", *arguments, check=False)


def command(shell: Shell, *arguments: str) -> str:
    """Run a command; return what it printed, or else the message of its error."""
    return shell.run(COMMAND.format(arguments))


def backups(environment: Environment) -> list[Path]:
    return sorted(Path(environment["DATA_DIR"], "backups").glob("*"))


def test_an_upgrade_begins_with_a_backup_that_can_be_restored(
    outdated_installation: Environment, site: Site
) -> None:
    done = manage(outdated_installation, "upgrade")
    assert done.returncode == 0, done.stderr
    [archive] = backups(outdated_installation)
    assert "Backing up the data of a version after 0.5.0 (0072_imported_images)" in done.stderr
    assert str(archive) in done.stderr
    assert "Upgraded the database." in done.stderr
    again = manage(outdated_installation, "upgrade")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    restored = restore(site.missing_installation(), archive)
    assert restored.returncode == 0, restored.stderr
    assert f"Applied {NEXT}" in restored.stdout


def test_a_failed_upgrade_names_the_migration_the_reason_and_the_way_back(
    broken_installation: Environment, shell: Shell
) -> None:
    done = manage(broken_installation, "upgrade")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"The upgrade failed at {NEXT}: " in done.stderr
    assert "already exists" in done.stderr
    assert "Nothing was lost" in done.stderr
    assert "make upgrade" not in done.stderr
    [archive] = backups(broken_installation)
    assert archive.name in done.stderr.splitlines()[-1]

    sentence = done.stderr.partition("CommandError: ")[2]
    assert command(shell, "serve") == sentence
    assert command(shell, "upgrade") == sentence
    assert backups(broken_installation) == [
        archive
    ]  # a service that restarts itself would fill the disk

    execute(broken_installation, IN_THE_WAY[vendor(broken_installation)][1])
    assert command(shell, "upgrade") == ""
    assert not Path(broken_installation["DATA_DIR"], "failed-upgrade.json").exists()
    shell.run("from django.core.management import call_command; call_command('migrate', '--check')")


@pytest.mark.thorough
def test_the_printed_commands_restore_the_backup(broken_installation: Environment) -> None:
    """This code restores the older data, and fails at the same migration again."""
    if vendor(broken_installation) == "postgresql":
        pytest.skip("the name of the new database is the operator's choice")
    done = manage(broken_installation, "upgrade")
    move, command = (line.strip() for line in done.stderr.splitlines()[-2:])
    subprocess.run(move.split(), check=True)
    variable, _, *arguments = command.split()
    assert variable == f"DATA_DIR={broken_installation['DATA_DIR']}"
    restored = run(broken_installation, *arguments, check=False)
    assert f"The upgrade failed at {NEXT}" in restored.stderr
    assert "The backup's data are in place" in restored.stderr
    assert "Restored the backup" not in restored.stdout


@pytest.mark.thorough
def test_upgrades_at_the_same_time_take_turns(outdated_installation: Environment) -> None:
    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(manage, outdated_installation, "upgrade") for _ in range(3)]
        ends = [result.result() for result in results]
    assert [done.returncode for done in ends] == [0, 0, 0]
    assert sum("Upgraded the database." in done.stderr for done in ends) == 1
    assert len(backups(outdated_installation)) == 1


def test_the_server_refuses_an_older_schema_until_the_upgrade_replaced_its_triggers(
    outdated_installation: Environment, shell: Shell
) -> None:
    refusal = command(shell, "serve")
    assert "The database has the tables of a version after 0.5.0" in refusal
    assert "Run `make upgrade`" in refusal

    is_sqlite = vendor(outdated_installation) == "sqlite"
    if is_sqlite:  # where it would stop each change of a table that it names
        execute(
            outdated_installation,
            "CREATE TRIGGER chatapp_old AFTER INSERT ON chatapp_user BEGIN "
            "UPDATE chatapp_import SET id = id; DELETE FROM chatapp_dailyusage; END",
        )
    assert command(shell, "upgrade", "--no-backup") == ""
    assert backups(outdated_installation) == []
    assert "all triggers are those of this version" in command(shell, "doctor")

    on = "" if is_sqlite else " ON chatapp_message"
    execute(outdated_installation, f"DROP TRIGGER chatapp_message_sequence{on}")
    assert "1 differ: chatapp_message_sequence" in command(shell, "doctor")
    repaired = command(shell, "doctor", "--repair-triggers")
    assert "all triggers are those of this version" in repaired
