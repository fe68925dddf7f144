"""How much of the history is loaded: published by the import, said by the demo."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from django.core.cache import cache
from redis import RedisError

from accounting.core.interval import DAY_MS, WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.windows.backlog import backlog
from portal.demo.bootstrap.setup import CLUSTER
from portal.demo.bootstrap.state import Memory

PROGRESS = "demo-history"  # cache key: (imported parts, total)
PROGRESS_S = 600  # seconds after which a progress that is not renewed is discarded

Say = Callable[[str], None]


def waiting_days(memory: Memory) -> int:
    """Full days of history that are stored and not computed yet."""
    history = Interval(0, memory.until_s * 1000)
    found = backlog(Cluster.objects.get(name=CLUSTER).pk, history)
    return (found.due + found.claimed) * WINDOW_MS // DAY_MS


def share(memory: Memory) -> None:
    """Publish the progress of the import, if Redis answers: the import does not need it."""
    left = len(memory.missing) + waiting_days(memory)
    with suppress(RedisError):
        if left:
            cache.set(PROGRESS, (memory.total - left, memory.total), PROGRESS_S)
        else:
            cache.delete(PROGRESS)


@dataclass(slots=True)
class ProgressReport:
    """Says each progress once, and when Redis stops and starts answering."""

    say: Say
    _said: tuple[int, int] | None = None
    _is_redis_away: bool = False

    def look(self) -> None:
        """Say what is new."""
        try:
            found: tuple[int, int] | None = cache.get(PROGRESS)
        except RedisError as error:
            if not self._is_redis_away:
                self.say(f"Redis does not answer ({error}). The demo continues without")
            self._is_redis_away = True
            return
        if self._is_redis_away:
            self.say("Redis answers again")
        self._is_redis_away = False
        if found is not None and found != self._said:
            self._said = found
            done, total = found
            self.say(f"History: {done} of {total} days are loaded")
