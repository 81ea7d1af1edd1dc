"""Triggers that make the database reject changes to the audit log.

Only a prune may delete events, after it has recorded its end in the head and in an event. Details
may only be emptied.

The triggers protect against our own mistakes and against SQL injection. The owner of the database
can remove them, but `verify` finds what they change then.
"""

from chatapp.db.sql_files import read_sql
from chatapp.db.triggers import trigger_source


@trigger_source("AuditEvent", "sequence")
def audit_triggers(vendor: str) -> str:
    return read_sql(__file__, "triggers", vendor)
