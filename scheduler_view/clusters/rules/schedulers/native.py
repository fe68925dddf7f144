"""The scheduler of Kubernetes: it has no queues; quotas are ResourceQuotas (`quotas/rules`)."""

from scheduler_view.clusters.rules.schedulers.adapter import SchedulerAdapter

ADAPTER = SchedulerAdapter("native", "Kubernetes")
