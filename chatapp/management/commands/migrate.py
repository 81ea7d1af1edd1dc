"""`manage.py migrate`: Django's command, run by one process at a time.

So every process of a deployment may migrate when it starts: the first one does, and the others wait
and find nothing to do. On SQLite all migrations run in one transaction.
"""

from chatapp.management.migrating import MigrateCommand


class Command(MigrateCommand):
    """The command, in the module that Django looks for."""
