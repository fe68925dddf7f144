"""What a person reads and does about each code of a data issue: one table.

`title` is a plain sentence in a few words, `advice` the next step, `at_stake` what time an
issue is weighed by. Whoever finds an issue says in its message what it saw.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Text(NamedTuple):
    """A code in words; `at_stake` is empty where no time is, or none can be told."""

    title: str
    advice: str
    at_stake: str = ""


TEXTS: Mapping[str, Text] = {
    # sources and what they send
    "source_failed": Text(
        "A source does not answer",
        "Windows wait and are read again; nothing is booked as idle. Check address,"
        " credentials and network of the source.",
        "the time of the GPUs in the windows that wait, which nothing is known of yet",
    ),
    "source_warning": Text(
        "A source said that its answer is not whole",
        "Its windows are read again. Look at the stores behind it (Thanos, Mimir).",
        "what is unknown or dark in its windows",
    ),
    "target_down": Text(
        "An exporter does not answer",
        "Its GPUs are unknown meanwhile. Look at the exporter's pod on that node.",
        "a step of its GPUs for each scrape that failed; of kube-state-metrics, of all GPUs",
    ),
    "clock_went_back": Text(
        "Samples came for time that was computed",
        "Nothing is lost or doubled: its windows are computed again with all samples."
        " Look at the clocks of PostgreSQL and of the exporters.",
    ),
    "foreign_job": Text(
        "A scrape of a job that is not on the list",
        "Nothing of it is counted. Add the job to `jobs` of the source if it is yours;"
        " else look who writes it.",
    ),
    "other_kube_state": Text(
        "A job that is not known sends kube-state-metrics",
        "Nothing of it counts. Accept the job on the data health page, or in"
        " `kube_state_jobs` of the setup file, if it is yours; else find out who sends it.",
        "the GPU time that its pods ask for",
    ),
    "kube_state_shard": Text(
        "A shard of kube-state-metrics under a job of its own",
        "It counts, because it shows other objects only. Accept the job on the data health"
        " page if it is yours; else find out who sends it.",
        "the GPU time that its pods ask for",
    ),
    "kube_state_renamed": Text(
        "Another job took over from kube-state-metrics",
        "It counts since the jobs before it were silent for an hour. Accept it on the data"
        " health page if the job was renamed: then that hour counts too.",
        "the GPU time that its pods ask for",
    ),
    "label_too_long": Text(
        "A label is longer than any name can be",
        "Its series are left out. Look at what the exporter writes into that label.",
    ),
    "odd_label": Text(
        "A label has characters that no name has",
        "Its series are left out: such text can pose as another name. Look at what the"
        " exporter writes.",
    ),
    # names and scales
    "unknown_metric": Text(
        "A metric that no catalogue knows",
        "It is not counted. Compare it with docs/sources.md; report the name if it is a"
        " GPU's.",
        "held time without any metric on the nodes that show it",
    ),
    "metric_twice": Text(
        "One measure under two names",
        "It is counted once. Remove one of the names from the exporter's list when the"
        " upgrade is done.",
        "the time under both names",
    ),
    "utilization_scale": Text(
        "Percent under the name of a ratio",
        "Declare `scales: {NAME: percent}` for this source, then `ingest` the time again.",
        "whole windows of the GPUs that show it",
    ),
    "utilization_out_of_range": Text(
        "Utilization outside 0 to 1",
        "Up to 1.1 it counts as 1, else as no data. Check the exporter's version and the"
        " source's `scales`.",
        "a step for each sample that is no data",
    ),
    "intensity_out_of_range": Text(
        "A share of activity outside 0 to 1",
        "Up to 1.1 it counts as 1, else as no data. Check the exporter's version and the"
        " source's `scales`.",
        "a step for each sample that is no data",
    ),
    "impossible_scale": Text(
        "A value that no GPU can have",
        "It counts as no data. Check the exporter's version: the unit is another than the"
        " name says.",
        "a step for each such sample",
    ),
    "energy_scale": Text(
        "An energy counter in another unit",
        "It counts as no data. Check the exporter's version: the unit is another than the"
        " name says.",
        "the time of the rises that are left out",
    ),
    "energy_reset": Text(
        "An energy counter was reset",
        "Nothing to do: a driver was loaded anew. Energy of that time is a lower bound.",
    ),
    "samples_differ": Text(
        "Two values of one series at one time",
        "The smaller counts. Look for two writers of the same series.",
        "a step for each such sample",
    ),
    "suspect_silence": Text(
        "Zeros that other metrics contradict",
        "Its time is unknown, not idle. Restart the exporter, or look for another profiler"
        " on this node.",
        "the time that is unknown by it",
    ),
    # holds and shares
    "more_held_than_there": Text(
        "More is held than there is",
        "Shares are scaled to what is there. Check the node's capacity, labels and pods of"
        " that time.",
        "the time in which more was held",
    ),
    "unknown_profile": Text(
        "A MIG profile that is in no table",
        "Nothing is booked for a pod that asks for it; an instance of it is stranded."
        " Compare the profile with docs/metering.md; report it if the GPU is new.",
        "the pod's time, as of one GPU",
    ),
    "share_above_one": Text(
        "A share of more than one GPU",
        "Nothing is booked for it. Check the pod's annotation.",
        "the pod's time, as of one GPU",
    ),
    "too_many_holders": Text(
        "More holders than replicas",
        "Shares are scaled to the GPU. Check replicas of the device plugin on that node.",
        "the time in which more was held",
    ),
    "two_on_exclusive": Text(
        "Two pods on one exclusive GPU",
        "Its time is divided between them, as an estimate. Look for a pod that sees GPUs"
        " without asking for them.",
        "the time in which both held it",
    ),
    "claim_without_device": Text(
        "A claim without a device",
        "Nothing is booked for it. Let the portal read ResourceClaims, or let the exporter"
        " show `dra_*` labels.",
        "the pod's time, as of one GPU",
    ),
    "foreign_gpu": Text(
        "A GPU that no node reported",
        "It is in no bill. Look which node sends its samples, and whether its capacity"
        " says so.",
        "the time of its samples",
    ),
    "gpu_beyond_capacity": Text(
        "A GPU that its node has no room for",
        "It is in no bill. Look which exporter sends its samples; where the GPU is real, look"
        " why the node's capacity does not have it.",
        "the time of its samples without a place",
    ),
    "gpu_in_two_places": Text(
        "One GPU on two nodes",
        "It is booked where it was sampled last. Look for a copied UUID or an exporter"
        " with another node's name.",
        "the time in which both nodes showed it",
    ),
    # whole clusters
    "cluster_silent": Text(
        "A cluster that nothing is heard of",
        "Its GPUs are dark, at their price. Repair its exporters and kube-state-metrics, or"
        " retire the cluster from the time it was shut down.",
        "the time of its GPUs since the last sample",
    ),
    "sampled_after_retired": Text(
        "Samples of a retired cluster",
        "Nothing of them is booked. Take the retirement back or move it if the cluster is in"
        " use; else look who writes them.",
        "the time of the GPUs that were sampled after it",
    ),
    "gpu_in_two_clusters": Text(
        "One GPU in two clusters",
        "Its time is booked in both. Retire the cluster that is wrong, or correct the name"
        " under which its data are imported.",
        "the time in both, which is booked twice",
    ),
    # hardware
    "gpu_xid": Text(
        "A GPU reported an error (XID)",
        "Look the number up in NVIDIA's list of XIDs, and at the pod that ran then.",
    ),
    "gpu_ecc": Text(
        "Memory errors that were not corrected",
        "Reset the GPU when it is free; have it replaced when they come again.",
    ),
    "gpu_row_remap": Text(
        "A row of memory could not be remapped",
        "Take the GPU out of service and have it replaced.",
    ),
    # money
    "unpriced_gpu": Text(
        "A GPU model without a price",
        "Its money is unknown and left out of totals. Add a price for this model.",
        "all its time; in money unknown",
    ),
    "unmapped_namespace": Text(
        "A namespace of no team",
        "Its usage is billed to nobody. Add a binding for it.",
        "its held time",
    ),
}


# Those that come of computing windows; others have their own way to end.
OF_WINDOWS = frozenset(TEXTS) - {
    *("source_failed", "source_warning", "target_down", "clock_went_back"),
    *("unpriced_gpu", "unmapped_namespace", "unknown_metric"),
    *("cluster_silent", "sampled_after_retired", "gpu_in_two_clusters"),
}

# Whose time at stake adds up over what was found; others are told with all of it.
ADDING_UP = OF_WINDOWS | {"source_warning", "target_down"}


def text_of(code: str) -> Text:
    """A code in words; a code of an older version keeps its own."""
    return TEXTS.get(code) or Text(code.replace("_", " ").capitalize(), "")
