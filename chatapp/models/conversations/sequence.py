"""The order of messages, `Message.sequence`, which the database assigns as it stores them.

A trigger numbers each message that is stored without a number, even by a process of the previous
version during an upgrade. The numbers rise within a conversation; gaps mean nothing. Messages that
are older than the numbering have none.

The triggers are created after every `migrate` and not by a migration: on SQLite, Django rebuilds a
table to change it, and the triggers are dropped with the old one.
"""

from contextlib import suppress
from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.core.exceptions import FieldDoesNotExist
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate
from django.dispatch import receiver

# SQLite has one writer at a time, so the maximum stays valid until the new row has its number.
SQLITE = """
CREATE TRIGGER IF NOT EXISTS chatapp_message_sequence AFTER INSERT ON chatapp_message
WHEN NEW.sequence IS NULL
BEGIN
  UPDATE chatapp_message SET sequence = 1 + (
    SELECT coalesce(max(sequence), 0) FROM chatapp_message
    WHERE conversation_id = NEW.conversation_id
  ) WHERE id = NEW.id;
END
"""
# Turns of one conversation run one after another, since each locks the conversation's row first.
POSTGRESQL = """
CREATE SEQUENCE IF NOT EXISTS chatapp_message_sequence OWNED BY chatapp_message.sequence;
CREATE OR REPLACE FUNCTION chatapp_number_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sequence := nextval('chatapp_message_sequence');
  RETURN NEW;
END $$;
CREATE TRIGGER chatapp_message_sequence BEFORE INSERT ON chatapp_message
FOR EACH ROW WHEN (NEW.sequence IS NULL) EXECUTE FUNCTION chatapp_number_message();
"""
POSTGRESQL_HAS_IT = """
SELECT EXISTS (
  SELECT FROM pg_trigger
  WHERE tgrelid = 'chatapp_message'::regclass AND tgname = 'chatapp_message_sequence'
)
"""


@receiver(post_migrate)
def after_migrating(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
    if sender.name != "chatapp":
        return
    # When migrating back to before the numbering, there is no such field.
    with suppress(LookupError, FieldDoesNotExist):
        apps.get_model("chatapp", "Message")._meta.get_field("sequence")
        _make_trigger(connections[using])


def _make_trigger(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(SQLITE)
            return
        cursor.execute(POSTGRESQL_HAS_IT)
        if not cursor.fetchone()[0]:
            cursor.execute(POSTGRESQL)
