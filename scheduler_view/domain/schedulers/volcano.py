"""Volcano: all shown figures of its queues are metrics."""

from scheduler_view.domain.schedulers.adapter import SchedulerAdapter

ADAPTER = SchedulerAdapter("volcano", "Volcano")
