"""The order of messages, made by the database as it stores them: `Message.sequence`.

A trigger numbers each message that comes without a number, whoever stores it: a process of the
version before does so too while an upgrade runs. Within a conversation the numbers rise; what lies
between two of them means nothing. Messages from before there were numbers have none.

The triggers are made after every `migrate`, not by a migration: on SQLite, Django makes a table
anew to change it, and its triggers go with the old one.
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

# One write at a time, so what is the highest number stays so until the new row has its own.
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
# Turns of a conversation come one after another, since each first locks the conversation's row.
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
    with suppress(
        LookupError, FieldDoesNotExist
    ):  # where it was migrated back to before there were numbers
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
