"""Connections to the database beside the pool that pages and sockets share."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler


def unpooled_connection(databases: dict[str, Any]) -> BaseDatabaseWrapper:
    """A connection to the default database of these settings, which waits for no other to end."""
    default = dict(databases["default"])
    options = {name: value for name, value in default.get("OPTIONS", {}).items() if name != "pool"}
    handler = ConnectionHandler({"default": default | {"OPTIONS": options}})
    connection: BaseDatabaseWrapper = handler["default"]
    return connection
