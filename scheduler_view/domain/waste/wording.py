"""The rules of waste as short texts of pages and files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_view.domain.waste.finding import WasteRule


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule for readers.

    Attributes:
        number: in docs/scheduling.md.
        title: of a finding.
        sentence: when the rule applies.
        amount: which time counts.
        advice: what to do about it.
    """

    number: str
    title: str
    sentence: str
    amount: str
    advice: str


RULE_TEXTS = {
    WasteRule.GANG: RuleText(
        "S20",
        "Waited for the rest of its gang",
        "Some members of a gang held GPUs while others had none.",
        "busy and idle time of the members that held GPUs",
        "Let the scheduler place all members at once (gang scheduling, or a queue).",
    ),
    WasteRule.NEVER_BUSY: RuleText(
        "S29",
        "Never busy",
        "The GPUs were held for at least 30 minutes, observed for at least half of that time, and "
        "idle in every observed window.",
        "idle time",
        "End it if it still runs, and check why it did not use its GPUs.",
    ),
    WasteRule.TAIL: RuleText(
        "S29",
        "Idle at the end",
        "After its last busy window the work held its GPUs for at least 15 idle minutes.",
        "idle time from the last busy window to the end",
        "End the work, or release its GPUs, when the computation is done.",
    ),
    WasteRule.IDLE: RuleText(
        "S28",
        "Idle holder",
        "The GPUs were held and idle for at least 30 minutes. A window is idle if less than 5% of "
        "its observed time was busy; windows that were not observed do not count.",
        "idle time",
        "Release the GPUs while nobody uses them.",
    ),
    WasteRule.IDLE_GPUS: RuleText(
        "S28",
        "Some of its GPUs idle",
        "Some GPUs of the work were idle for at least 30 minutes while others were busy.",
        "idle time of the idle GPUs",
        "Request fewer GPUs, or use all of them.",
    ),
    WasteRule.TOO_LONG: RuleText(
        "S23",
        "Longer than its limit",
        "The GPUs were held longer than the limit of their tier or team (setting MAX_DURATIONS), "
        "else the label max-duration of the pod, else its activeDeadlineSeconds, allows.",
        "busy and idle time after the limit",
        "End the work, or raise its limit.",
    ),
    WasteRule.SPREAD: RuleText(
        "S27",
        "On more nodes than needed",
        "When the gang was placed, fewer nodes had enough free GPUs for it.",
        "busy and idle time at risk; no saving is claimed",
        "Prefer nodes that are close together (topology constraints, or a packing policy).",
    ),
    WasteRule.POLICY: RuleText(
        "S24",
        "Free while work is held back",
        "Free GPUs would have been enough for work that a quota, a queue, a suspension or a gate "
        "held back, or that the scheduler had not tried again.",
        "free time of the GPUs that this work could have used, by what was observed at the border "
        "of each five minutes",
        "Raise or share the quota that refuses the work, or let the queue borrow.",
    ),
    WasteRule.FRAGMENTED: RuleText(
        "S25",
        "Free, but not usable",
        "Free GPUs of the node were too few or too small for the pods that are usual here, or it "
        "had too little free CPU or another model than they require.",
        "free time, weighted by how frequent each kind of pod is",
        "Pack small pods together, or move them, so that whole nodes become free.",
    ),
    WasteRule.KEPT_NODE: RuleText(
        "S32",
        "Empty node kept",
        "No pod held GPUs of the node for at least 30 minutes, and a pod that is not of a "
        "DaemonSet kept the node from being removed.",
        "free time of its GPUs that no other finding has, at their cost",
        "Move the pod to a node without GPUs, or allow that it is evicted.",
    ),
    WasteRule.INVERSION: RuleText(
        "S21",
        "Waited behind lower priority",
        "Pods of lower priority alone held enough GPUs for the work, and were not preempted.",
        "observed time of as many of their GPUs as the work waited for",
        "Let the priority class of the work preempt, or put a quota on lower priorities.",
    ),
    WasteRule.STARVED: RuleText(
        "S22",
        "Starved",
        "The work waited longer than a day, and than ten times what 95% of the work of its tier "
        "and pool waited, while work of no higher priority that was created later was bound.",
        "no time: the units that overtook it",
        "Check what its pods require, or raise its priority.",
    ),
    WasteRule.NOT_ALLOCATABLE: RuleText(
        "S26",
        "Free, but nothing that waits fits",
        "GPUs were free while work waited, and none of it could use them.",
        "free time of these GPUs; it may be in other findings as well",
        "Look at what the waiting work requires: models, whole nodes, CPU, memory.",
    ),
    WasteRule.PREEMPTED: RuleText(
        "S30",
        "Lost by preemption",
        "The pod was preempted. What it computed since its last checkpoint is lost; without the "
        "label checkpoint-interval, that is between nothing and all of its busy time.",
        "busy time of the attempt, at most one checkpoint interval for each GPU",
        "Write checkpoints more often, or run it where it is not preempted.",
    ),
    WasteRule.SPOT: RuleText(
        "S31",
        "Could run on spot",
        "Batch or training work that is started again after a failure, with at most SPOT_PODS "
        "pods at the same time and no hold of SPOT_HOURS hours or more, ran on on-demand nodes.",
        "observed time on on-demand nodes; the amount is what spot would have saved, less what "
        "preemptions cost where spot is used now",
        "Let it run on spot nodes.",
    ),
    WasteRule.RIGHT_SIZE: RuleText(
        "S33",
        "Larger than needed",
        "Over seven days, at least 95% of them observed, the work used a part of its GPUs that a "
        "smaller MIG profile, or fewer GPUs, would have had. Idle findings are left out.",
        "the part of its observed time that the smaller size does not need",
        "Request the smaller size.",
    ),
}

AT_RISK = frozenset({WasteRule.SPREAD})
"""Rules whose time is at risk: no saving is claimed."""

OVERLAPPING = frozenset(
    {
        *(WasteRule.INVERSION, WasteRule.STARVED, WasteRule.NOT_ALLOCATABLE),
        *(WasteRule.PREEMPTED, WasteRule.SPOT, WasteRule.RIGHT_SIZE),
    }
)
"""Rules whose time may be in other findings as well."""

NOT_IN_TOTALS = AT_RISK | OVERLAPPING

NEEDS_API = (
    *("S21", "S22", "S24", "S26", "S32"),
    "CPU and models of S25",
    "activeDeadlineSeconds of S23",
    "retries of Jobs of S31",
)
"""What is known only from the objects of a cluster; from metrics alone it is silent."""


def rule_text(rule: str) -> RuleText:
    """The text of a stored rule."""
    return RULE_TEXTS[WasteRule(rule)]


def limits_text(limits: Mapping[str, Any]) -> str:
    """The limits of settings that findings of a day were computed with; empty if unknown."""
    return ", ".join(
        f"{name} {', '.join(value) or 'none' if isinstance(value, list) else value}"
        for name, value in limits.items()
    )


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """What a rule compared, as one short text; empty without evidence."""
    parts = [write(evidence) for key, write in _EVIDENCE.items() if key in evidence]
    return ", ".join(parts)


def _limit(found: Mapping[str, Any]) -> str:
    held, limit = (_hours(found[key]) for key in ("held_ms", "limit_ms"))
    source = f" ({found['limit_from']})" if "limit_from" in found else ""
    return f"held {held}, limit {limit}{source}"


def _spot(found: Mapping[str, Any]) -> str:
    """Findings of older versions do not have the limits."""
    text = f"its longest hold lasted {_hours(found['longest_ms'])}"
    if "below_ms" not in found:
        return text
    pods = "1 pod" if found["pods"] == 1 else f"{found['pods']} pods"
    return (
        f"{text}, less than SPOT_HOURS ({_hours(found['below_ms'])}); {pods} at the same time, "
        f"SPOT_PODS is {found['most_pods']}"
    )


def _lost(found: Mapping[str, Any]) -> str:
    if not found["checkpoint_ms"]:
        return f"between 0 and {_hours(found['busy_ms'])} of busy GPU time"
    return (
        f"a checkpoint every {_hours(found['checkpoint_ms'])}: "
        f"{_hours(found['busy_ms'] // 2)} of busy GPU time expected"
    )


def _starved(found: Mapping[str, Any]) -> str:
    overtaken = found["overtaken"]
    noun = "unit" if overtaken == 1 else "units"
    return (
        f"waited {_hours(found['waited_ms'])}, more than {_hours(found['usual_ms'])}; "
        f"{overtaken} {noun} created later {'was' if overtaken == 1 else 'were'} bound"
    )


def _size(found: Mapping[str, Any]) -> str:
    wide = found["safe_size"]
    other = "" if wide == found["size"] else f" (for its busiest five minutes: {wide})"
    return f"{found['held_size']} held, {found['size']} is enough{other}"


def _fragmented(found: Mapping[str, Any]) -> str:
    """Findings of older versions did not look at CPU."""
    free, known = found["free_ms"], found.get("cpu_known_ms", 0)
    pods, seen = found.get("pods", 0), found.get("cpu_known_pods", 0)
    text = f"of {free / 3_600_000:,.1f} free GPU-hours"
    if known == free and seen == pods:
        return text
    if not known or not seen:
        return f"{text}; CPU and models were not observed and do not count"
    return (
        f"{text}; CPU and models count where they were observed: for "
        f"{100 * known // free}% of this time and {100 * seen // pods}% of the usual pods"
    )


_EVIDENCE: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "idle_gpus": lambda e: f"{e['idle_gpus']} of {e['held_gpus']} GPUs",
    "idle_windows": lambda e: f"{_duration(e['idle_windows'] * 5)} of idle windows",
    "bound": lambda e: f"{e['bound']} of {e['size']} members bound",
    "limit_ms": _limit,
    "fewest_nodes": lambda e: f"{e['nodes']} nodes instead of {e['fewest_nodes']}",
    "classes": _fragmented,
    "units": lambda e: f"up to {e['units']} units at once",
    "kept_by": lambda e: f"kept by {e['kept_by']}",
    "lower_units": lambda e: (
        f"waited for {e['waited_units']} units with priority {e['priority']}; pods of lower "
        f"priority held {e['lower_units']}"
    ),
    "overtaken": _starved,
    "busy_ms": _lost,
    "longest_ms": _spot,
    "held_size": _size,
}


def _hours(duration_ms: int) -> str:
    return _duration(duration_ms // 60_000)


def _duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
