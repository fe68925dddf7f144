"""Volcano: its metrics say all that is shown of its queues."""

from scheduler_view.domain.schedulers.adapter import SchedulerAdapter

ADAPTER = SchedulerAdapter("volcano", "Volcano")
