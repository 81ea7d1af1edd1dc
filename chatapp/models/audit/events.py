"""The tables of the audit log: events, which contain only ids, their details, and the head.

Events have no foreign keys, since they must outlive the people and things they refer to.
"""

import json
from typing import Any

from django.db import models

from chatapp.models.audit import chain
from chatapp.models.audit.actions import ACTIONS

SINGLETON_PK = 1  # the primary key of the only head


class AuditEvent(models.Model):
    """An action, its actor and its object, chained to the event before. Rows are never changed."""

    sequence = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField(help_text="The database's time.")
    action = models.CharField(max_length=60)
    actor = models.BigIntegerField(
        null=True, help_text="A person; null for commands run in a terminal."
    )
    target_type = models.CharField(max_length=60, blank=True)
    target = models.CharField(max_length=64, blank=True)
    person = models.BigIntegerField(null=True, help_text="The person it concerns.")
    detail_hash = models.CharField(max_length=64, blank=True)
    key = models.CharField(max_length=16)
    previous = models.CharField(max_length=64)
    mac = models.CharField(max_length=64)

    class Meta:
        ordering = ["-sequence"]
        indexes = [
            models.Index(fields=["action", "sequence"]),
            models.Index(fields=["actor", "sequence"]),
            models.Index(fields=["person", "sequence"]),
            models.Index(fields=["target_type", "target", "sequence"]),
            models.Index(fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"event {self.sequence}: {self.action}"

    @property
    def fields(self) -> chain.EventFields:
        return chain.EventFields(*(getattr(self, name) for name in chain.EventFields._fields))

    @property
    def link(self) -> str:
        return chain.link(self.fields, self.mac)

    @property
    def words(self) -> str:
        return ACTIONS.get(self.action, self.action)


class AuditDetail(models.Model):
    """The content of an event besides ids: values before and after, reasons, addresses.

    It refers to people by id, and erasing a person empties it. The event contains its salted hash.
    The salt is erased too, so that the content can't be guessed from the hash.
    """

    event = models.OneToOneField(
        AuditEvent, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="detail"
    )
    salt = models.CharField(max_length=2 * chain.SALT_BYTES, blank=True)
    content = models.TextField(blank=True, help_text="JSON.")

    def __str__(self) -> str:
        return f"detail of event {self.event_id}"

    @property
    def is_erased(self) -> bool:
        return not self.content and not self.salt

    @property
    def values(self) -> dict[str, Any]:
        """The decoded content; empty if it was erased or is not valid JSON."""
        try:
            detail = json.loads(self.content)
        except ValueError:
            return {}
        return detail if isinstance(detail, dict) else {}


class AuditHead(models.Model):
    """The end of the chain, and the point up to which it was pruned.

    It is signed, so that a missing tail is noticed. Appending an event locks this row first, which
    puts events in order.
    """

    sequence = models.BigIntegerField(default=0)
    link = models.CharField(max_length=64, default=chain.GENESIS)
    pruned_to = models.BigIntegerField(default=0)
    key = models.CharField(max_length=16)
    mac = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.sequence}:{self.link}"
