"""Live text of Kueue's controller: quota, use and waiting work of each ClusterQueue.

Names and labels as Kueue 0.15 writes them (v1beta2); `replica_role` is that of the leader.
"""

from collections.abc import Iterator

from portal.demo.metrics.labels import Constant
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.organization import WHOLE_GPU
from portal.demo.scenario.queues import CLUSTER_QUEUES, COHORT, FLAVOR


def queue_text(engine: Engine, at_s: int) -> str:
    """The output of the controller; the engine must have been advanced to this moment."""
    text: dict[str, list[str]] = {}
    engine.advance(at_s)
    for fact in queue_facts(engine):
        text.setdefault(fact.name, []).append(f"{fact.head()} {fact.value}\n")
    return "".join(
        line
        for name, lines in text.items()
        for line in (f"# TYPE {name} gauge\n", *lines)
    )


def queue_facts(engine: Engine) -> Iterator[Constant]:
    """Every series of every ClusterQueue."""
    queues = engine.jobs.queues
    for one in CLUSTER_QUEUES:
        quota = queues.quotas[one.name]
        line = queues.waiting[one.name]
        about = {"cluster_queue": one.name, "replica_role": "leader"}
        resource = {"resource": WHOLE_GPU, **about}
        of_flavor = {"cohort": COHORT, "flavor": FLAVOR, **resource}
        yield from (
            Constant(f"kueue_cluster_queue_{name}", of_flavor, str(value))
            for name, value in (
                ("nominal_quota", quota.nominal),
                ("borrowing_limit", quota.borrowing),
                ("resource_usage", queues.used(one.name)),
            )
        )
        asked = sum(job.gpus for _, _, job in line)
        yield Constant("kueue_cluster_queue_resource_pending", resource, str(asked))
        for status, count in (("active", 0), ("inadmissible", len(line))):
            yield Constant(
                "kueue_pending_workloads", {**about, "status": status}, str(count)
            )
