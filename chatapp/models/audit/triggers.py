"""Triggers that make the database reject changes to the audit log.

Only a prune may delete events, after it has recorded its end in the head and in an event. Details
may only be emptied.

The triggers protect against our own mistakes and against SQL injection. The owner of the database
can remove them, but `verify` finds what they change then. They are created after every `migrate`,
like those of `sequence`.
"""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.signals import post_migrate
from django.dispatch import receiver

REFUSAL = "The audit log only grows"
PRUNED_TO = "(SELECT coalesce(max(pruned_to), 0) FROM chatapp_audithead)"


def _for_sqlite() -> Sequence[str]:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    emptied = "NEW.event_id = OLD.event_id AND NEW.content = '' AND NEW.salt = ''"
    conditions = {
        "auditevent_changed BEFORE UPDATE ON chatapp_auditevent": "",
        "auditevent_deleted BEFORE DELETE ON chatapp_auditevent": f"OLD.sequence > {PRUNED_TO}",
        # REPLACE deletes a row without firing the trigger above.
        "auditevent_replaced BEFORE INSERT ON chatapp_auditevent": (
            "EXISTS (SELECT 1 FROM chatapp_auditevent WHERE sequence = NEW.sequence)"
        ),
        "auditdetail_changed BEFORE UPDATE ON chatapp_auditdetail": f"NOT ({emptied})",
        "auditdetail_deleted BEFORE DELETE ON chatapp_auditdetail": f"OLD.event_id > {PRUNED_TO}",
        "auditdetail_replaced BEFORE INSERT ON chatapp_auditdetail": (
            "EXISTS (SELECT 1 FROM chatapp_auditdetail WHERE event_id = NEW.event_id)"
        ),
    }
    return [
        f"CREATE TRIGGER IF NOT EXISTS chatapp_{name} {f'WHEN {condition} ' if condition else ''}"
        f"{refuse}"
        for name, condition in conditions.items()
    ]


SQLITE = _for_sqlite()
FUNCTION = f"""
CREATE OR REPLACE FUNCTION chatapp_keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  pruned_to bigint := {PRUNED_TO};
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    IF NOT EXISTS (SELECT FROM chatapp_auditevent WHERE sequence > pruned_to) THEN
      RETURN NULL;
    END IF;
  ELSIF TG_TABLE_NAME = 'chatapp_auditdetail' THEN
    IF TG_OP = 'DELETE' AND OLD.event_id <= pruned_to THEN
      RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND NEW.event_id = OLD.event_id AND NEW.content = '' AND NEW.salt = ''
    THEN
      RETURN NEW;
    END IF;
  ELSIF TG_OP = 'DELETE' AND OLD.sequence <= pruned_to THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '{REFUSAL}: no % of %', TG_OP, TG_TABLE_NAME;
END $$;
"""
TRIGGER = """
DROP TRIGGER IF EXISTS chatapp_audit_{name} ON {table};
CREATE TRIGGER chatapp_audit_{name} BEFORE {what} ON {table}
FOR EACH {each} EXECUTE FUNCTION chatapp_keep_audit();
"""
POSTGRESQL = FUNCTION + "".join(
    TRIGGER.format(name=name, what=what, table=table, each=each)
    for table in ("chatapp_auditevent", "chatapp_auditdetail")
    for name, what, each in (
        ("kept", "UPDATE OR DELETE", "ROW"),
        ("whole", "TRUNCATE", "STATEMENT"),
    )
)
SQLITE_HAS_THEM = """
SELECT count(*) = 6 FROM sqlite_master
WHERE type = 'trigger' AND tbl_name IN ('chatapp_auditevent', 'chatapp_auditdetail')
"""
POSTGRESQL_HAS_THEM = """
SELECT count(*) = 4 FROM pg_trigger
WHERE tgenabled = 'O'
AND tgrelid IN ('chatapp_auditevent'::regclass, 'chatapp_auditdetail'::regclass)
"""


@receiver(post_migrate)
def after_migrating(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
    if sender.name != "chatapp" or "auditevent" not in apps.all_models["chatapp"]:
        return
    with connections[using].cursor() as cursor:
        if connections[using].vendor == "sqlite":
            for statement in SQLITE:
                cursor.execute(statement)
            return
        if not are_there(using):
            cursor.execute(POSTGRESQL)


def are_there(using: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether all triggers exist and, on PostgreSQL, are enabled."""
    with connections[using].cursor() as cursor:
        is_sqlite = connections[using].vendor == "sqlite"
        cursor.execute(SQLITE_HAS_THEM if is_sqlite else POSTGRESQL_HAS_THEM)
        return bool(cursor.fetchone()[0])
