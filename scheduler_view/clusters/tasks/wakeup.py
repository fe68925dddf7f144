"""Wakes a worker for a cluster. The task is named: its module imports the Kubernetes client."""

from accounting.kit.wakeup import wake_worker

WORK = "scheduler_view.tasks.work"


def wake_for_cluster(cluster_id: int) -> None:
    """Wake a worker for a cluster's change sets when this transaction has committed.

    Without Redis, beat finds the work within 10 seconds.
    """
    wake_worker(WORK, cluster_id)
