"""`manage.py restore`: restore a backup into an empty installation."""

import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from chatapp.command_line import MANAGE
from chatapp.erasure import register
from chatapp.erasure.people import erase_again
from chatapp.erasure.register import Erasure
from chatapp.management.backups import data_dir, postgres, refusals, sqlite
from chatapp.management.backups.archive import DATABASE, Archive, open_verified
from chatapp.management.backups.progress import Progress
from chatapp.management.migrating import MigrationFailed
from chatapp.models import Message, Process, StoredFile, User, audit
from chatapp.models.retention.vacuuming import vacuum_erased

WITHOUT_ERASURES = (
    "There is no erasures.jsonl in DATA_DIR, so people who were erased after this backup was made "
    "are back. If anyone was erased, restore again with that file from the old installation."
)


class Command(BaseCommand):
    help = "Restore an archive made by `backup` into an empty installation. Stop the app first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="the archive")

    def handle(self, *args: Any, **options: Any) -> None:
        database = postgres if connection.vendor == "postgresql" else sqlite
        with open_verified(options["file"], self._progress("Checking")) as archive:
            refusals.refuse_incompatible(archive)
            database.refuse_unless_empty()
            refusals.refuse_files()
            refusals.refuse_lack_of_space(archive.size)
            with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.DATA_DIR) as folder:
                files = Path(folder, "files")
                for name, path in archive.files.items():
                    archive.extract(name, files / path)
                progress = self._progress("Restoring", archive.manifest.members[DATABASE].size)
                chunks = progress.count_bytes(archive.chunks(DATABASE))
                database.restore(chunks, archive.manifest.rows, Path(folder))
                archived = register.read(files / data_dir.ERASURES)
                for path in archive.files.values():
                    if path != data_dir.ERASURES:
                        _put_in_place(files / path, settings.DATA_DIR / path)
            missing = self._migrate(archive)
            self._report(archive, missing)
            self._bring_up_to_date(archive)
            self._erase_again(archived)
        self.stdout.write("Start the app.")

    def _migrate(self, archive: Archive) -> set[str]:
        """Bring the schema up to date. Returns the migrations that the backup did not have."""
        settings.SECRET_KEY = refusals.read_secret_key(archive)  # migrations may decrypt secrets
        try:
            call_command("migrate", verbosity=0)
        except MigrationFailed as error:
            raise CommandError(
                f"{error}\nThe backup's data are in place, as chatapp {archive.manifest.version} "
                "made them. That version can run with them now; this one can't."
            ) from error
        return refusals.list_migrations() - set(archive.manifest.migrations)

    def _report(self, archive: Archive, missing: set[str]) -> None:
        manifest = archive.manifest
        self.stdout.write(
            f"Restored the backup of {manifest.made_at} by chatapp {manifest.version}: "
            f"{sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables, as counted "
            f"at that time, and {len(archive.files)} files."
        )
        if missing:
            self.stdout.write(f"Its schema was older. Applied {', '.join(sorted(missing))}.")

    def _bring_up_to_date(self, archive: Archive) -> None:
        Process.objects.all().delete()  # from the original installation
        if interrupted := Message.objects.interrupt_orphans():
            self.stdout.write(
                f"Replies that were running then and are now interrupted: {interrupted}."
            )
        with transaction.atomic():
            audit.record("backup.restored", actor=None, detail={"of": archive.manifest.made_at})

    def _erase_again(self, archived: list[Erasure]) -> None:
        """Erase the people who were erased since the backup; merge the `archived` erasures."""
        if not register.file().exists():
            self.stderr.write(WITHOUT_ERASURES)
        since = register.read(register.file())
        if unknown := [erasure for erasure in archived if erasure not in since]:
            register.append(unknown)
        reports = erase_again(register.find_restored_people(since + unknown))
        while StoredFile.objects.delete_unused():
            pass
        vacuum_erased(connection)
        self.stdout.write(f"People erased since the backup, now erased again: {len(reports)}.")
        if reports and not User.objects.filter(is_active=True, is_superuser=True).exists():
            self.stderr.write(f"There is no administrator. Run `{MANAGE} createsuperuser`.")

    def _progress(self, doing: str, total: int = 0) -> Progress:
        return Progress(lambda line: self.stderr.write(line, self.style.NOTICE), doing, total)


def _put_in_place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)
