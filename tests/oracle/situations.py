"""What happens in a fleet, by name.

Read from samples alone: a generator that stopped to make a situation would be found by a
count that falls to 0.
"""

from collections.abc import Callable, Iterable, Mapping

from tests.oracle import gpu_situations as gpus
from tests.oracle import kube_situations as kube
from tests.oracle.observed import Fleet
from tests.oracle.samples import POWER, UTIL, Sample
from tests.oracle.setup import Setup

SITUATIONS: Mapping[str, Callable[[Fleet], bool]] = {
    "sharded kube-state": kube.is_sharded,
    "pod and node on different shards": kube.pod_apart_from_node,
    "shards with replicas": kube.replicated_shards,
    "one shard is silent": kube.silent_shard,
    "kube-state restarted": kube.restarted,
    "kube-state restarted after long": kube.restarted_after_long,
    "Pending before a silence": kube.waits_when_silent,
    "name reused in a silence": kube.reused_in_silence,
    "node object missing, pod shown": kube.node_missing_with_pod,
    "node and pod away and back": kube.node_and_pod_back,
    "another job of known objects": kube.other_job,
    "another job of other objects": kube.shard_of_another_job,
    "another job after an hour": kube.taken_over,
    "jobs are set": kube.jobs_are_set,
    "UUIDs beyond the capacity": gpus.too_many_uuids,
    **{
        f"AMD {kind}, {'by label' if is_labelled else 'by samples'}": gpus.amd(
            kind, is_labelled=is_labelled
        )
        for kind in ("spx", "dpx", "qpx", "cpx")
        for is_labelled in (True, False)
    },
    "zeros on MIG beside utilisation": gpus.zeros_on_mig(UTIL),
    "zeros on MIG beside power": gpus.zeros_on_mig(POWER),
    "percent under a ratio's name": gpus.silenced,
    "copies of few wrong values": gpus.copied,
    "wrong values of a declared name": gpus.declared,
    **{
        f"only 0 and 1 among {kind}": gpus.even(kind)
        for kind in ("ratios", "both", "averages", "percentages")
    },
    "labels older than an hour": gpus.old_labels,
    "samples after the end of a cluster": gpus.sampled_after_end,
    "lifecycle in snake case": gpus.label_in_snake_case,
}


def situations(samples: Iterable[Sample], setup: Setup) -> list[str]:
    """What happens in a fleet, by name."""
    fleet = Fleet(samples, setup)
    return [name for name, happens in SITUATIONS.items() if happens(fleet)]
