"""The rules of waste as short texts of pages and files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from scheduler_view.clusters.rules.wording import counted
from scheduler_view.savings.rules.finding import WasteRule


class Division(StrEnum):
    """How the GPUs of a node are divided; of work: whole."""

    WHOLE = ""
    MIG = "mig"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule for readers.

    Attributes:
        number: in docs/scheduling.md.
        title: of a finding.
        sentence: when the rule applies.
        amount: which time counts.
        advice: what to do about it.
        of_division: what to do instead about a node whose GPUs are divided.
    """

    number: str
    title: str
    sentence: str
    amount: str
    advice: str
    of_division: Mapping[Division, str] = field(default_factory=dict)

    def advice_for(self, division: Division) -> str:
        """What to do about a node, or about work."""
        return self.of_division.get(division, self.advice)


RULE_TEXTS = {
    WasteRule.GANG: RuleText(
        "S20",
        "Waited for the rest of its gang",
        "Some members of a gang held GPUs while others had none.",
        "busy and idle time of the members that held GPUs",
        "Use gang scheduling or a queue, so that all members are placed at once.",
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
    WasteRule.IN_USE: RuleText(
        "S28",
        "Idle inside busy windows",
        "Idle time in five-minute windows of which at least 5% of the observed time was busy.",
        "idle time that is in no other finding",
        "Nothing can be released. Check the efficiency of the work.",
    ),
    WasteRule.TOO_LONG: RuleText(
        "S23",
        "Longer than its limit",
        "The GPUs were held longer than their limit: that set for the tier or team (setting "
        "MAX_DURATIONS), otherwise the label max-duration or activeDeadlineSeconds of the pod.",
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
        "free time of the GPUs that this work could have used, as observed at each five-minute "
        "boundary",
        "Raise or share the quota that refuses the work, or let the queue borrow.",
    ),
    WasteRule.FRAGMENTED: RuleText(
        "S25",
        "Free, but not usable",
        "The free GPUs of the node were too few or too small for the usual pods, or it had too "
        "little free CPU or another model than they require.",
        "free time, weighted by how frequent each kind of pod is",
        "Pack small pods together, or move them, so that whole nodes become free.",
        {
            Division.MIG: "Repartition its GPUs into the sizes that usual pods request.",
            Division.SHARED: "Stop sharing its GPUs if usual pods request whole GPUs.",
        },
    ),
    WasteRule.KEPT_NODE: RuleText(
        "S32",
        "Empty node kept",
        "No pod held GPUs of the node for at least 30 minutes, and a pod that is not of a "
        "DaemonSet kept the node from being removed.",
        "free time of its GPUs that is in no other finding, at their cost",
        "Move the pod to a node without GPUs, or allow its eviction.",
    ),
    WasteRule.INVERSION: RuleText(
        "S21",
        "Waited behind lower priority",
        "Lower-priority pods alone held enough GPUs for the work, and were not preempted.",
        "observed time of their GPUs, up to the number that the work waited for",
        "Let the priority class of the work preempt, or put a quota on lower priorities.",
    ),
    WasteRule.STARVED: RuleText(
        "S22",
        "Starved",
        "The work waited more than a day, and more than ten times as long as 95% of the work of "
        "its tier and pool, while later work of the same or a lower priority was bound.",
        "no time, only the units that overtook it",
        "Check what its pods require, or raise its priority.",
    ),
    WasteRule.NOT_ALLOCATABLE: RuleText(
        "S26",
        "Free, but no pending work fits",
        "GPUs were free while work waited that could not use them.",
        "free time of these GPUs; it may be in other findings as well",
        "Check what the pending work requires: models, whole nodes, CPU, memory.",
    ),
    WasteRule.PREEMPTED: RuleText(
        "S30",
        "Lost by preemption",
        "The pod was preempted, and its results since the last checkpoint are lost. Without the "
        "label checkpoint-interval, the loss is between zero and all of its busy time.",
        "busy time of the attempt, at most one checkpoint interval for each GPU",
        "Write checkpoints more often, or run it where it cannot be preempted.",
    ),
    WasteRule.SPOT: RuleText(
        "S31",
        "Could run on spot",
        "Batch or training work that restarts after a failure ran on on-demand nodes. It had few "
        "pods at the same time and only short holds (limits in the settings).",
        "observed time on on-demand nodes; the amount is what spot would have saved, less what "
        "preemptions cost where spot is used now",
        "Let it run on spot nodes.",
    ),
    WasteRule.RIGHT_SIZE: RuleText(
        "S33",
        "Larger than needed",
        "Over seven days, at least 95% of them observed, a smaller MIG profile or fewer GPUs would "
        "have been enough for what the work used. Idle findings do not count.",
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

NO_SAVING = frozenset({WasteRule.FRAGMENTED})
"""Rules whose time nobody can give back: other placement would use it."""

NOT_IN_TOTALS = AT_RISK | OVERLAPPING | NO_SAVING

NEEDS_API = (
    *("S21", "S22", "S24", "S26", "S32"),
    "CPU and models of S25",
    "activeDeadlineSeconds of S23",
    "retries of Jobs of S31",
)
"""What is known only from the objects of a cluster; from metrics alone it is silent."""


_BRIDGE = {
    ("idle", "rest"): "Too short for a finding",
    ("idle", "total"): "Idle cost",
    ("unallocated", "rest"): "Free, in no finding",
    ("unallocated", "total"): "Unallocated cost, with no data",
}
_PARTS = {
    "stranded": "Stranded: parts of GPUs that no pod can hold",
    "stray": "Stray: used without a pod",
    "dark": "No data",
    "not_measured": "Days that are not measured",
}


def bridge_title(cost: str, part: str) -> str:
    """The title of a part of the idle or unallocated cost."""
    return _BRIDGE.get((cost, part)) or _PARTS.get(part) or rule_text(part).title


def is_actionable(part: str) -> bool:
    """Whether a part of a cost is in findings of which a saving is claimed."""
    return part in set(WasteRule) - NOT_IN_TOTALS - {WasteRule.IN_USE}


def rule_text(rule: str) -> RuleText:
    """The text of a stored rule."""
    return RULE_TEXTS[WasteRule(rule)]


def limits_text(limits: Mapping[str, Any]) -> str:
    """The limits of settings that findings of a day were computed with; empty if unknown."""
    return "; ".join(
        _LIMITS[name](value) for name, value in limits.items() if name in _LIMITS
    )


def _longest(value: Sequence[str]) -> str:
    known = [one.partition(":")[::2] for one in value]
    shown = [f"{kind} {of.replace('=', ' ')}" for kind, of in known]
    return f"longest holds: {', '.join(shown) or 'not limited'}"


_LIMITS: Mapping[str, Callable[[Any], str]] = {
    "SPOT_PODS": lambda pods: f"work for spot has at most {counted(pods, 'pod')}",
    "SPOT_HOURS": lambda hours: f"each held for less than {counted(hours, 'hour')}",
    "MAX_DURATIONS": _longest,
}
