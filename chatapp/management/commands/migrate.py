"""`manage.py migrate`: Django's, in one process at a time.

So every process of a deployment may migrate as it starts: the first one does it, and the others
wait and find nothing left to do.
"""

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate

from chatapp.data_dir import make_private
from chatapp.models.locks import only_one_process


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        make_private(settings.DATA_DIR)
        with only_one_process("migrate"):
            super().handle(*args, **options)
