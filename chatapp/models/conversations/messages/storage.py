"""A quota for what people store without asking a model: forks, imported chats, projects, saved
prompts, presets, notes on replies, and what their scripts save.

Limits on replies don't bound these, so each person may store a number of bytes in total, and a part
of it per hour.
"""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Cast, Coalesce
from django.db.models.sql.compiler import SQLCompiler
from django.template.defaultfilters import filesizeformat

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models.accounts.users import User
from chatapp.models.library.presets import PresetVersion
from chatapp.models.library.prompts import PromptVersion
from chatapp.models.refusals import Refused

FULL = (
    "Your forks, imported chats, projects, saved prompts, presets and notes take up {used} of the "
    "{allowed} you may use, and this needs {needed}. Delete some that you no longer need, from the "
    "trash too, or ask an administrator for more space."
)
TOO_FAST = "You have stored as much as is allowed within an hour. Try again later."


class OctetLength(models.Func):
    """The length of a text in UTF-8 bytes."""

    function = "octet_length"
    output_field = models.BigIntegerField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, tuple[Any, ...]]:
        template = "length(cast(%(expressions)s AS blob))"
        return self.as_sql(compiler, connection, template=template, **context)


def charge_quota(user: User, size: int, hourly: TokenBucket, *, in_place_of: int = 0) -> None:
    """Take `size` bytes from the person's quota, in place of the `in_place_of` bytes they replace.

    `hourly` holds the bytes that the person may still store now. Raises `Refused`.
    """
    check_quota(user, size, in_place_of)
    charge_hourly_quota(size, hourly)


def charge_hourly_quota(size: int, hourly: TokenBucket) -> None:
    """Take `size` bytes from what the person may still store now. Raises `Refused`."""
    if not hourly.has(size):
        raise Refused(TOO_FAST)
    hourly.take(size)


def check_quota(user: User, size: int, in_place_of: int = 0) -> None:
    """Raise `Refused` if so many more bytes exceed the person's quota."""
    used, allowed = count_stored_bytes(user), settings.CHATAPP_STORED_BYTES_PER_PERSON
    if size > in_place_of and used - in_place_of + size > allowed:
        sizes = {"used": used, "allowed": allowed, "needed": size}
        raise Refused(FULL.format(**{name: filesizeformat(n) for name, n in sizes.items()}))


def get_quota_left(user: User) -> int:
    """Return how many bytes the person may still store; negative if there are too many."""
    return int(settings.CHATAPP_STORED_BYTES_PER_PERSON) - count_stored_bytes(user)


def count_stored_bytes(user: User) -> int:
    in_chats = user.conversations.order_by().aggregate(n=Coalesce(models.Sum("stored_bytes"), 0))
    in_projects = user.projects.order_by().aggregate(
        n=Coalesce(models.Sum(OctetLength("name") + OctetLength("instructions")), 0)
    )
    versions = PromptVersion.objects.filter(target__owner=user).order_by()
    in_prompts = versions.aggregate(
        n=Coalesce(models.Sum(OctetLength("title") + OctetLength("text")), 0)
    )
    size = OctetLength("system_prompt") + OctetLength(Cast("parameters", models.TextField()))
    presets = PresetVersion.objects.filter(target__owner=user).order_by()
    in_presets = presets.aggregate(n=Coalesce(models.Sum(size), 0))
    return int(in_chats["n"] + in_projects["n"] + in_prompts["n"] + in_presets["n"])
