"""Caches of database rows in a process, which are discarded when the database may have lost them.

A server that crashed may have lost its last commits (`synchronous_commit = off`, a standby
that took over), and a backup that was restored under the same name has other rows: rows that this
process has seen are gone, and their ids are reused. So a cache is valid for one run of the server
and one database, which is checked with each new session.
"""

from typing import Any, TypeVar

from django.db import connection
from django.db.backends.signals import connection_created

# Changes when a server starts, after a failover, after every crash, and with another database.
LIFE = """
    SELECT concat_ws(' ', pg_postmaster_start_time(), stats_reset, d.oid)
    FROM pg_stat_bgwriter, pg_database d WHERE d.datname = current_database()
"""
Memory = TypeVar("Memory", bound=dict[Any, Any])
_memories: list[dict[Any, Any]] = []
_state = {"life": "", "is_sure": False}


def register(memory: Memory) -> Memory:
    """Also clear this cache when the database may have lost rows."""
    _memories.append(memory)
    return memory


def refresh() -> None:
    """Clear caches that may no longer be valid; one query for each session."""
    if _state["is_sure"]:
        return
    with connection.cursor() as cursor:
        cursor.execute(LIFE)
        life = str(cursor.fetchone()[0])
    if life != _state["life"]:
        for memory in _memories:
            memory.clear()
    _state.update(life=life, is_sure=True)


def _doubt(**_named: object) -> None:
    _state["is_sure"] = False


connection_created.connect(
    _doubt, dispatch_uid="accounting.metering.tasks.database_cache"
)
