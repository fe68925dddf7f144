"""What a process remembers of the database, until the database may have forgotten it.

A server that crashed may have lost its last commits (`synchronous_commit = off`, a standby
that took over): rows are gone that this process has seen, and their ids are given again. So
a memory belongs to one life of the server, which is looked at with each new session.
"""

from typing import Any, TypeVar

from django.db import connection
from django.db.backends.signals import connection_created

# Changes when a server starts, when another one takes over, and after every crash.
LIFE = """
    SELECT pg_postmaster_start_time()::text || ' ' || coalesce(stats_reset::text, '')
    FROM pg_stat_bgwriter
"""
Memory = TypeVar("Memory", dict[Any, Any], set[Any])
_memories: list[dict[Any, Any] | set[Any]] = []
_state = {"life": "", "is_sure": False}


def keep(memory: Memory) -> Memory:
    """Empty this one, too, when the database may have forgotten."""
    _memories.append(memory)
    return memory


def refresh() -> None:
    """Forget what may not be so any more; one query in each session."""
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


connection_created.connect(_doubt, dispatch_uid="accounting.ingest.database_cache")
