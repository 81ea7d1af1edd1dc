"""The rows of the log: events that hold ids alone, a detail for each that names something, and the
head, which says where the chain ends.

No constraint holds what an event refers to: people and things go, and what was done to them stays.
"""

import json
from typing import Any

from django.db import models

from chatapp.models.audit import chain
from chatapp.models.audit.actions import ACTIONS

ONLY = 1  # the primary key of the one head


class AuditEvent(models.Model):
    """Who did what to what, chained to the event before it; no row is ever changed."""

    sequence = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField(help_text="By the database's clock.")
    action = models.CharField(max_length=60)
    actor = models.BigIntegerField(null=True, help_text="A person; none: whoever has the terminal.")
    target_type = models.CharField(max_length=60, blank=True)
    target = models.CharField(max_length=64, blank=True)
    person = models.BigIntegerField(null=True, help_text="Whom it concerns.")
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
    def said(self) -> chain.Said:
        return chain.Said(*(getattr(self, name) for name in chain.Said._fields))

    @property
    def link(self) -> str:
        return chain.link(self.said, self.mac)

    @property
    def words(self) -> str:
        return ACTIONS.get(self.action, self.action)


class AuditDetail(models.Model):
    """What an event says besides ids: values before and after, reasons, addresses. It refers to
    people by ids, and an erasure takes it out of the log.

    The event has its salted hash. An erased one is empty, and so is its salt: nothing is left from
    which the hash could be guessed.
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
    def said(self) -> dict[str, Any]:
        """Nothing where it was erased, or is no JSON any more."""
        try:
            found = json.loads(self.content)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class AuditHead(models.Model):
    """Where the chain ends, signed, so that a tail that was cut shows; and up to where it was
    pruned. Whoever appends an event locks this row first, which is what gives events their order.
    """

    sequence = models.BigIntegerField(default=0)
    link = models.CharField(max_length=64, default=chain.GENESIS)
    pruned_to = models.BigIntegerField(default=0)
    key = models.CharField(max_length=16)
    mac = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.sequence}:{self.link}"
