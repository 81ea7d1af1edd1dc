"""Whether this process can work, part by part, told in bounded time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from chatapp.realtime.worker import worker

LONGEST_WAIT = 2.0  # seconds; a database that takes longer counts as away

# One thread of its own: a database that hangs takes no other, however often it is asked.
_thread = ThreadPoolExecutor(1, "readiness")
# Once true it stays so, since migrations are not undone under a running process.
is_migrated = False


async def parts() -> dict[str, bool | None]:
    """Each part by name; `redis` is None where the process needs none."""
    looking = asyncio.get_running_loop().run_in_executor(_thread, _look_at_database)
    try:
        has_database = await asyncio.wait_for(looking, LONGEST_WAIT)
    except TimeoutError:
        has_database = False
    return {
        # Actions are refused until a beat has seen it, too.
        "database": has_database and worker().database_answers,
        "redis": worker().cluster.bus.answers if settings.REDIS_URL else None,
        "migrations": is_migrated,
        "draining": worker().draining.has_begun,
    }


def failing(parts: dict[str, bool | None]) -> set[str]:
    """The names of the parts that keep the process from working: true is bad of one of them."""
    return {name for name, value in parts.items() if value is (name == "draining")}


def _look_at_database() -> bool:
    global is_migrated
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        is_migrated = is_migrated or _has_all_migrations()
    except DatabaseError:
        return False
    finally:
        connection.close()
    return True


def _has_all_migrations() -> bool:
    """Whether the database has each migration that the code knows; it may have newer ones."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
