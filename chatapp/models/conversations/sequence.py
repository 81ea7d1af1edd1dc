"""The order of messages, `Message.sequence`, which the database assigns as it stores them.

A trigger numbers each message that is stored without a number, even by a process of the previous
version during an upgrade. The numbers rise within a conversation; gaps mean nothing. Messages that
are older than the numbering have none.
"""

from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.db.sql_files import after_migrate, run_sql


@after_migrate("Message", "sequence")
def make_trigger(connection: BaseDatabaseWrapper) -> None:
    run_sql(__file__, "sequence", connection)
