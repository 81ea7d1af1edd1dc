"""Databases on the PostgreSQL server that DATABASE_URL names, or on this machine's."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

SERVER = os.environ.get("DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")


@contextmanager
def new_database() -> Iterator[str]:
    """Create an empty database and return its URL; drop it at the end."""
    name = f"chatapp_upgrade_{uuid4().hex}"
    with closing(psycopg.connect(SERVER, autocommit=True, connect_timeout=3)) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlsplit(SERVER)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
