"""Upgrades: the steps before a new version serves. Checking whether they are done is quick.

An upgrade makes a backup, migrates the database and collects static files. If a migration fails,
the reason and the way back are kept in DATA_DIR, so that `serve` can say them, too.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from chatapp.command_line import MANAGE
from chatapp.db.locks import only_one_process
from chatapp.db.schema_version import describe_version, find_unapplied, read_applied
from chatapp.db.triggers import are_current
from chatapp.management import static_sources
from chatapp.management.backups.data_dir import BACKUPS, FAILED_UPGRADE
from chatapp.management.backups.making import write_backup
from chatapp.management.migrating import MigrateCommand, MigrationFailed
from chatapp.management.sentences import explain_errors
from chatapp.models import User
from chatapp.server.data_dir import make_private

Report = Callable[[str], None]


class FailedUpgrade(msgspec.Struct):
    """The last upgrade that failed, as stored in DATA_DIR."""

    text: str
    backup: str  # the path of the archive, "" if none was made
    applied: list[str]  # the app's own migrations at the time of the backup


def upgrade(report: Report, *, makes_backup: bool = True) -> None:
    """Back up and migrate the database and collect static files, as far as necessary.

    One process at a time does it, the others wait. Raises `CommandError`.
    """
    make_private(settings.DATA_DIR)
    with explain_errors(), only_one_process("upgrade"):
        if unapplied := find_unapplied(connection):
            _migrate(unapplied, report, makes_backup)
        elif not are_current(connection):
            call_command("migrate", verbosity=0)
        if not static_sources.are_collected():
            call_command("collectstatic", interactive=False, verbosity=0)


def refuse_old_schema() -> None:
    """Raise `CommandError` if the database lacks migrations, with the reason if one failed."""
    with explain_errors():
        unapplied = find_unapplied(connection)
        if not unapplied:
            return
        applied = read_applied(connection)
    if failed := _read_failure():
        raise CommandError(failed.text)
    if not applied:
        raise CommandError("The database has no tables yet. Run `make upgrade` to create them.")
    raise CommandError(
        f"The database has the tables of {describe_version(applied)}. This version needs "
        f"{len(unapplied)} more migrations, from {unapplied[0]} on. Run `make upgrade`, which "
        "makes a backup first."
    )


def _migrate(unapplied: list[str], report: Report, makes_backup: bool) -> None:
    applied = read_applied(connection)
    backup = ""
    if makes_backup and applied and User.objects.exists():
        backup = str(_reusable_backup(applied) or _back_up(applied, report))
    command = MigrateCommand()
    command.total = len(unapplied)
    try:
        call_command(command, verbosity=0)
    except MigrationFailed as error:
        text = f"{error}\n{_describe_rollback(backup)}"
        failure = FailedUpgrade(text, backup, applied)
        _failure_file().write_bytes(msgspec.json.encode(failure))
        raise CommandError(text) from error
    _failure_file().unlink(missing_ok=True)
    if applied:
        report("Upgraded the database.")
    if backup:
        _delete_other_backups(Path(backup))


def _back_up(applied: list[str], report: Report) -> Path:
    folder = settings.DATA_DIR / BACKUPS
    folder.mkdir(mode=0o700, exist_ok=True)
    file: Path = folder / f"before-upgrade-{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}.zip"
    report(f"Backing up the data of {describe_version(applied)} in {file}")
    try:
        write_backup(file, report)
    except CommandError as error:
        raise CommandError(
            f"{error}\nNothing was changed. If you have a backup, you can upgrade without making "
            f"another one: {MANAGE} upgrade --no-backup"
        ) from error
    return file


def _reusable_backup(applied: list[str]) -> Path | None:
    """Return the backup of a failed upgrade of the same schema.

    Otherwise a service that is restarted again and again would fill the disk.
    """
    failure = _read_failure()
    if failure and failure.backup and failure.applied == applied:
        file = Path(failure.backup)
        return file if file.exists() else None
    return None


def _delete_other_backups(backup: Path) -> None:
    """Delete the backups of earlier upgrades: people may have been erased since."""
    for file in backup.parent.glob("before-upgrade-*.zip"):
        if file != backup:
            file.unlink()


def _describe_rollback(backup: str) -> str:
    """Return the commands that restore the backup for the previous version."""
    if not backup:
        return (
            "To go back, restore your backup with the previous version; see "
            "docs/backup-and-upgrade.md."
        )
    folder = settings.DATA_DIR
    archive = backup
    if connection.vendor == "sqlite":
        first = f"mv {folder} {folder}.failed"
        archive = str(Path(f"{folder}.failed", BACKUPS, Path(backup).name))
        variables = f"DATA_DIR={folder}"
    else:
        database = f"{connection.settings_dict['NAME']}_restored"
        first = f"createdb {database}"
        variables = f"DATABASE_URL=postgres://…/{database} DATA_DIR={folder}.restored"
    return (
        "To go back to the backup made before the upgrade, install the previous version and run:\n"
        f"    {first}\n"
        f"    {variables} {MANAGE} restore {archive}"
    )


def _read_failure() -> FailedUpgrade | None:
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(_failure_file().read_bytes(), type=FailedUpgrade)
    return None


def _failure_file() -> Path:
    return Path(settings.DATA_DIR) / FAILED_UPGRADE
