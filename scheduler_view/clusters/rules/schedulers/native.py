"""The scheduler of Kubernetes: it has no queues; quotas are ResourceQuotas (`domain/quotas`)."""

from scheduler_view.domain.schedulers.adapter import SchedulerAdapter

ADAPTER = SchedulerAdapter("native", "Kubernetes")
