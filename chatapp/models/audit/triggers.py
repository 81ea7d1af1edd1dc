"""Triggers that make the database reject changes to the audit log.

Only a prune may delete events, after it has recorded its end in the head and in an event. Details
may only be emptied.

The triggers protect against our own mistakes and against SQL injection. The owner of the database
can remove them, but `verify` finds what they change then.
"""

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp.db.sql_files import after_migrate, run_sql

HAS_THEM = {
    "sqlite": """
SELECT count(*) = 6 FROM sqlite_master
WHERE type = 'trigger' AND tbl_name IN ('chatapp_auditevent', 'chatapp_auditdetail')
""",
    "postgresql": """
SELECT count(*) = 4 FROM pg_trigger
WHERE tgenabled = 'O'
AND tgrelid IN ('chatapp_auditevent'::regclass, 'chatapp_auditdetail'::regclass)
""",
}


@after_migrate("AuditEvent", "sequence")
def make_triggers(connection: BaseDatabaseWrapper) -> None:
    if not are_there(connection.alias):
        run_sql(__file__, "triggers", connection)


def are_there(using: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether all triggers exist and, on PostgreSQL, are enabled."""
    with connections[using].cursor() as cursor:
        cursor.execute(HAS_THEM[connections[using].vendor])
        return bool(cursor.fetchone()[0])
