"""The title and the advice of each code of a data issue, in one table.

`title` is a short sentence, `advice` the next step, `at_stake` the time by which issues are
ranked. The message of an issue describes the finding.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Text(NamedTuple):
    """The texts of a code; `at_stake` is empty if no time can be given."""

    title: str
    advice: str
    at_stake: str = ""


TEXTS: Mapping[str, Text] = {
    # sources and what they send
    "source_failed": Text(
        "Metrics source unavailable",
        "The affected windows are retried. Nothing is booked as idle. Check the source's "
        "address, credentials and network.",
        "the GPU time in the windows that are not computed yet",
    ),
    "source_warning": Text(
        "Incomplete response from a source",
        "Its windows are read again. Check the storage behind the source (Thanos, Mimir).",
        "the unknown and dark time in its windows",
    ),
    "target_down": Text(
        "Exporter unavailable",
        "Its GPUs are unknown until it responds. Check the exporter's pod on that node.",
        "30 s of its GPUs for each failed scrape, the time between two scrapes; for "
        "kube-state-metrics, of all GPUs",
    ),
    "clock_went_back": Text(
        "Samples arrived for time that was already computed",
        "Nothing is lost or counted twice: the windows are recomputed with all samples. Check "
        "the clocks of PostgreSQL and of the exporters.",
    ),
    "foreign_job": Text(
        "Samples of a job that is not listed",
        "Its samples are ignored. If the job is yours, add it to `jobs` of the source. Otherwise "
        "find out who sends it.",
    ),
    "other_kube_state": Text(
        "Unknown job sends kube-state-metrics",
        "Its samples are ignored. If the job is yours, accept it on the data health page or in "
        "`kube_state_jobs` of the setup file. Otherwise find out who sends it.",
        "the GPU time that its pods request",
    ),
    "kube_state_shard": Text(
        "Shard of kube-state-metrics under a separate job",
        "Its samples are used, because it reports only other objects. If the job is yours, "
        "accept it on the data health page. Otherwise find out who sends it.",
        "the GPU time that its pods request",
    ),
    "kube_state_renamed": Text(
        "Another job replaced kube-state-metrics",
        "Its samples are used, because the previous jobs sent nothing for an hour. If the job "
        "was renamed, accept it on the data health page to include that hour.",
        "the GPU time that its pods request",
    ),
    "pod_without_uid": Text(
        "Pods without a uid",
        "Pods of one name count as one, so that a hold can last too long. Upgrade "
        "kube-state-metrics to 2.0 or newer.",
        "the GPU time that its pods request",
    ),
    "label_too_long": Text(
        "Label value too long",
        "Its series are ignored. Check what the exporter writes into that label.",
    ),
    "odd_label": Text(
        "Label value with characters that are not valid",
        "Its series are ignored, because such text can imitate another name. Check what the "
        "exporter writes.",
    ),
    # names and scales
    "unknown_metric": Text(
        "Unknown metric",
        "It is ignored. Compare it with docs/sources.md. If it is a GPU metric, report its name.",
        "held time without any metric on the nodes that report it",
    ),
    "metric_twice": Text(
        "Same measurement under two names",
        "It is counted once. After the upgrade, remove one of the names from the exporter's list.",
        "the time with both names",
    ),
    "utilization_scale": Text(
        "Values on another scale than the metric's name",
        "Declare `scales: {NAME: percent}` or `{NAME: ratio}` for this source, then `ingest` the "
        "time again.",
        "complete windows of the GPUs that report it",
    ),
    "utilization_out_of_range": Text(
        "Utilization outside 0 to 1",
        "Values up to 1.1 count as 1, larger values as no data. Check the exporter's version and "
        "the source's `scales`.",
        "one scrape interval for each sample that counts as no data",
    ),
    "intensity_out_of_range": Text(
        "Activity ratio outside 0 to 1",
        "Values up to 1.1 count as 1, larger values as no data. Check the exporter's version and "
        "the source's `scales`.",
        "one scrape interval for each sample that counts as no data",
    ),
    "impossible_scale": Text(
        "Value not possible for a GPU",
        "It counts as no data. Check the exporter's version: the unit does not match the metric "
        "name.",
        "one scrape interval for each such sample",
    ),
    "energy_scale": Text(
        "Energy counter in a different unit",
        "It counts as no data. Check the exporter's version: the unit does not match the metric "
        "name.",
        "the time of the increases that are ignored",
    ),
    "energy_reset": Text(
        "Energy counter reset",
        "No action needed: the driver was reloaded. Energy of that time is a lower bound.",
    ),
    "samples_differ": Text(
        "Two values of one series at the same time",
        "The smaller value is used. Check for two senders of the same series.",
        "one scrape interval for each such sample",
    ),
    "suspect_silence": Text(
        "Idle readings contradicted by power or utilization",
        "The time is unknown, not idle. Restart the exporter, or check for another profiler on "
        "this node.",
        "the time that is unknown for this reason",
    ),
    # holds and shares
    "more_held_than_there": Text(
        "Allocation exceeds capacity",
        "Shares are scaled to the capacity. Check the node's capacity, labels and pods at that "
        "time.",
        "the time with too many allocations",
    ),
    "unknown_profile": Text(
        "Unknown MIG profile",
        "If its slices fit the GPU, they are its share. Otherwise pods that request it are not "
        "billed, and its instances count as stranded. Compare the profile with docs/metering.md. "
        "If the GPU is new, report the profile.",
        "the time of such instances by their share; of a pod that is not billed its time, counted "
        "as one GPU",
    ),
    "share_above_one": Text(
        "Share of more than one GPU",
        "The pod is not billed. Check its annotation.",
        "the pod's time, counted as one GPU",
    ),
    "too_many_holders": Text(
        "More pods than replicas",
        "Shares are scaled to the GPU. Check the replicas of the device plugin on that node.",
        "the time with too many allocations",
    ),
    "two_on_exclusive": Text(
        "Two pods on one exclusive GPU",
        "Its time is split between them as an estimate. Check for a pod that uses GPUs without "
        "requesting them.",
        "the time in which both held it",
    ),
    "claim_without_device": Text(
        "Resource claim without a device",
        "The pod is not billed. Give the portal access to ResourceClaims, or configure the "
        "exporter to add `dra_*` labels.",
        "the pod's time, counted as one GPU",
    ),
    "pod_refused": Text(
        "Pods refused by a node",
        "They held nothing. Check the node's device plugin and GPUs: the scheduler sends pods to "
        "GPUs that the kubelet cannot hand out.",
    ),
    "hold_without_gpus": Text(
        "Pods on a node without GPUs",
        "Their time is not billed to anyone. Check whether kube-state-metrics shows the node's "
        "GPU capacity, and whether a scrape config replaces the label `node`.",
        "the GPU time that the pods held there, in the last 31 days",
    ),
    "gpu_never_sampled": Text(
        "GPUs that were never sampled",
        "They count as free or unknown, at full price. Check the exporter of this node. If the "
        "GPUs do not exist, check the node's capacity and the labels of GPU feature discovery.",
        "the time of these GPUs, in the last 31 days",
    ),
    "foreign_gpu": Text(
        "GPU not reported by any node",
        "It is not billed. Check which node sends its samples, and whether that node's capacity "
        "includes it.",
        "the time of its samples",
    ),
    "hostname_of_no_node": Text(
        "Exporter with another name of its node",
        "Nothing is lost: another label names the node. Set NODE_NAME in the exporter's "
        "DaemonSet (`fieldRef: spec.nodeName`), or drop the label with a scrape config.",
    ),
    "gpu_beyond_capacity": Text(
        "GPU beyond its node's capacity",
        "It is not billed. Check which exporter sends its samples. If the GPU exists, check why "
        "the node's capacity does not include it.",
        "the time of its samples beyond the capacity",
    ),
    "gpu_in_two_places": Text(
        "One GPU on two nodes",
        "It is booked on the node where it was sampled last. Check for a copied UUID or an "
        "exporter with another node's name.",
        "the time in which both nodes reported it",
    ),
    # whole clusters
    "cluster_silent": Text(
        "No samples from a cluster",
        "Its GPUs count as dark, at full price. Repair its exporters and kube-state-metrics, or "
        "retire the cluster as of its shutdown.",
        "the time of its GPUs since the last sample",
    ),
    "sampled_after_retired": Text(
        "Samples of a retired cluster",
        "They are not booked. If the cluster is in use, clear or change its retirement. "
        "Otherwise find out who sends them.",
        "the time of the GPUs that were sampled after the retirement",
    ),
    "gpu_in_two_clusters": Text(
        "One GPU in two clusters",
        "Its time is booked in both. Retire the wrong cluster, or correct the cluster name used "
        "for the import.",
        "the time in both clusters, which is booked twice",
    ),
    "cluster_token": Text(
        "Token of a cluster expires",
        "Without it, workers cannot read the cluster, or apply changes. Create a new token and "
        "write it to the same file; nothing is restarted.",
    ),
    # hardware
    "gpu_xid": Text(
        "GPU error (XID)",
        "Look up the number in NVIDIA's list of XID errors, and check the pod that ran at that "
        "time.",
    ),
    "gpu_ecc": Text(
        "Uncorrected memory errors",
        "Reset the GPU when it is free. If the errors recur, replace it.",
    ),
    "gpu_row_remap": Text(
        "Memory row remapping failed",
        "Take the GPU out of service and replace it.",
    ),
    # money
    "unpriced_gpu": Text(
        "GPU model without a price",
        "Its cost is unknown and not included in totals. Add a price for this model.",
        "all of its time; the amount is unknown",
    ),
    "unmapped_namespace": Text(
        "Namespace without a team",
        "Its usage is not billed to any team. Add an attribution rule for it.",
        "its held time",
    ),
}


# Codes of findings in computed windows; others end differently.
OF_WINDOWS = frozenset(TEXTS) - {
    *("source_failed", "source_warning", "target_down", "clock_went_back"),
    *("unpriced_gpu", "unmapped_namespace", "unknown_metric"),
    *("cluster_silent", "sampled_after_retired", "gpu_in_two_clusters"),
    *("hold_without_gpus", "gpu_never_sampled", "cluster_token"),
}

# Codes whose time at stake adds up over findings; others report the total each time.
ADDING_UP = OF_WINDOWS | {"source_warning", "target_down"}


def text_of(code: str) -> Text:
    """The texts of a code; an unknown code of an older version is its own title."""
    return TEXTS.get(code) or Text(code.replace("_", " ").capitalize(), "")
