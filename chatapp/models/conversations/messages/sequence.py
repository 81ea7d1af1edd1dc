"""The order of messages, `Message.sequence`, which the database assigns as it stores them.

A trigger numbers each message that is stored without a number, even by a process of the previous
version during an upgrade. The numbers rise within a conversation; gaps mean nothing. Messages that
are older than the numbering have none.
"""

from typing import Any

from django.db import connection as default
from django.db.models import Max, QuerySet

from chatapp.db.sql_files import read_sql
from chatapp.db.triggers import trigger_source


@trigger_source("Message", "sequence")
def sequence_trigger(vendor: str) -> str:
    return read_sql(__file__, "sequence", vendor)


def reserve_numbers(stored: "QuerySet[Any]", count: int) -> list[int]:
    """Return the numbers of so many messages that are about to be stored, in their order.

    `stored` are the messages of their conversation, whose row is locked. For many messages at once
    this is faster than the trigger.
    """
    if default.vendor == "postgresql":
        query = "SELECT nextval('chatapp_message_sequence') FROM generate_series(1, %s)"
        with default.cursor() as cursor:
            cursor.execute(query, [count])
            return sorted(number for (number,) in cursor.fetchall())
    last = stored.order_by().aggregate(last=Max("sequence"))["last"] or 0
    return list(range(last + 1, last + 1 + count))
