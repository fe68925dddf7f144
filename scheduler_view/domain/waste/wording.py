"""The rules of waste as short texts of pages and files."""

from dataclasses import dataclass

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
        "The GPUs were held longer than the label max-duration of the pod allows.",
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
    WasteRule.FRAGMENTED: RuleText(
        "S25",
        "Free, but not usable",
        "Free GPUs of the node were too few or too small for the pods that are usual here. CPU and "
        "required models are not considered.",
        "free time, weighted by how frequent each kind of pod is",
        "Pack small pods together, or move them, so that whole nodes become free.",
    ),
}

AT_RISK = frozenset({WasteRule.SPREAD})
"""Rules without a claimed saving: their time is not part of totals."""

NOT_MEASURED = (
    ("S21", "Priority inversion", "Explanations of past waits are not kept."),
    ("S22", "Starvation", "Bind times of past work are not kept by pool."),
    ("S24", "Thrashing", "Past waits are not kept."),
    ("S26", "Free, but not allocatable", "Past waits are not kept."),
    ("S30", "Lost by preemption", "Not computed yet."),
    ("S31", "Eligible for spot", "Not computed yet."),
    ("S32", "Empty node kept", "Pods without GPUs are not recorded."),
    ("S33", "Right size", "Not computed yet."),
)
"""Number, title and reason of the rules that have no findings."""


def rule_text(rule: str) -> RuleText:
    """The text of a stored rule."""
    return RULE_TEXTS[WasteRule(rule)]


def evidence_text(evidence: dict[str, int]) -> str:
    """What a rule compared, as one short text; empty without evidence."""
    parts = []
    if "idle_gpus" in evidence:
        parts.append(f"{evidence['idle_gpus']} of {evidence['held_gpus']} GPUs")
    if "idle_windows" in evidence:
        parts.append(f"{_duration(evidence['idle_windows'] * 5)} of idle windows")
    if "size" in evidence:
        parts.append(f"{evidence['bound']} of {evidence['size']} members bound")
    if "limit_ms" in evidence:
        held, limit = (evidence[key] // 60_000 for key in ("held_ms", "limit_ms"))
        parts.append(f"held {_duration(held)}, limit {_duration(limit)}")
    if "fewest_nodes" in evidence:
        parts.append(f"{evidence['nodes']} nodes instead of {evidence['fewest_nodes']}")
    if "classes" in evidence:
        hours = evidence["free_ms"] / 3_600_000
        parts.append(f"of {hours:,.1f} free GPU-hours")
    return ", ".join(parts)


def _duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
