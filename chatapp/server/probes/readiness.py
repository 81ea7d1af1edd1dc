"""Whether this process can serve, part by part, determined in bounded time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from chatapp.realtime.worker import worker

MAX_WAIT = 2.0  # seconds; a slower database counts as down

# A thread of its own, so that a database that hangs occupies only this one.
_thread = ThreadPoolExecutor(1, "readiness")
# Never reset to False: nobody reverses migrations under a running process.
is_migrated = False


async def parts() -> dict[str, bool | None]:
    """Return the state of each part by name; `redis` is None if Redis isn't used."""
    query = asyncio.get_running_loop().run_in_executor(_thread, _query_database)
    try:
        has_database = await asyncio.wait_for(query, MAX_WAIT)
    except TimeoutError:
        has_database = False
    return {
        # Actions are refused until a heartbeat has reached it, too.
        "database": has_database and worker().database_answers,
        "redis": worker().cluster.bus.answers if settings.REDIS_URL else None,
        "migrations": is_migrated,
        "draining": worker().draining.has_begun,
    }


def find_failing_parts(parts: dict[str, bool | None]) -> set[str]:
    """Return the names of the parts that fail; `draining` fails if it is true."""
    return {name for name, value in parts.items() if value is (name == "draining")}


def _query_database() -> bool:
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
    """Return whether every migration in the code is applied; the database may have newer ones."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
