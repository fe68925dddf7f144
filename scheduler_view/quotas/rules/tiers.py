"""Priority tiers: named, versioned PriorityClasses, and what Kubernetes rejects.

A PriorityClass' value and preemption policy cannot change in place, and deleting one does not
change the pods that use it (trap T28). So a changed tier is a new version under a new name;
pods keep the priority that they were admitted with.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

MOST, LEAST = 1_000_000_000, -2_147_483_648  # scheduling.k8s.io: user-defined classes
PREEMPTS, NEVER = "PreemptLowerPriority", "Never"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST = 63 - len("gpu-ledger--v9999")  # also part of the names of the tier's quotas


@dataclass(frozen=True, slots=True)
class TierSpec:
    """A desired tier.

    Attributes:
        value: pods with a larger value are scheduled first.
        preempts: False means that its pods wait instead of preempting others; they can
            still be preempted themselves.
        is_default: for pods that name no class; one per cluster.
    """

    name: str
    value: int
    preempts: bool = True
    is_default: bool = False
    description: str = ""

    @property
    def policy(self) -> str:
        """`preemptionPolicy` of its class."""
        return PREEMPTS if self.preempts else NEVER


@dataclass(frozen=True, slots=True)
class TierState:
    """A tier and its classes: new pods name `classes[0]`."""

    spec: TierSpec
    classes: Sequence[str]

    @property
    def class_name(self) -> str:
        """The class of the current version."""
        return self.classes[0]


@dataclass(frozen=True, slots=True)
class Template:
    """A common set of tiers, highest first."""

    key: str
    message: str
    tiers: tuple[TierSpec, ...]


TEMPLATES = (
    Template(
        "critical-normal-scavenger",
        "Production first, preemptible work on free GPUs",
        (
            TierSpec("critical", 100_000, description="customer-facing production"),
            TierSpec("normal", 10_000, is_default=True, description="default work"),
            TierSpec("scavenger", 100, preempts=False, description="runs on free GPUs"),
        ),
    ),
    Template(
        "interactive-batch-backfill",
        "Interactive before queued work",
        (
            TierSpec("interactive", 50_000, description="notebooks and debugging"),
            TierSpec("batch", 10_000, is_default=True, description="queued training"),
            TierSpec(
                "backfill", 1_000, preempts=False, description="runs on free GPUs"
            ),
        ),
    ),
    Template(
        "training-inference",
        "Serving before training, interactive training before batch",
        (
            TierSpec(
                "inference-production", 100_000, description="serves live requests"
            ),
            TierSpec(
                "training-interactive", 50_000, description="interactive training"
            ),
            TierSpec(
                "training-batch", 10_000, is_default=True, description="long training"
            ),
        ),
    ),
)


def tier_faults(spec: TierSpec) -> list[str]:
    """What Kubernetes would reject, as sentences; empty if the tier is valid (T28)."""
    faults = []
    if spec.name.startswith("system-"):
        faults.append(
            f"{spec.name!r}: names starting with system- are reserved for Kubernetes"
        )
    elif not _NAME.fullmatch(spec.name) or len(spec.name) > _LONGEST:
        faults.append(
            f"{spec.name[:80]!r} is not a valid tier name: lowercase letters, digits and dashes, "
            f"at most {_LONGEST}"
        )
    if isinstance(spec.value, bool) or not LEAST <= spec.value <= MOST:
        faults.append(
            f"value {spec.value} of {spec.name!r} is not between {LEAST:,} and {MOST:,}"
        )
    if len(spec.description) > 500:
        faults.append(f"the description of {spec.name!r} is longer than 500 characters")
    return faults


def default_faults(tiers: Collection[TierSpec], foreign: Collection[str]) -> list[str]:
    """Why these tiers cannot exist together: at most one default per cluster.

    Args:
        tiers: all desired tiers of a cluster.
        foreign: default classes in the cluster that are not ours.
    """
    ours = sorted(tier.name for tier in tiers if tier.is_default)
    names = [*ours, *sorted(foreign)] if ours else []
    if len(names) < 2:
        return []
    others = sorted(foreign) if len(ours) == 1 else names[1:]
    return [
        (
            f"{' and '.join(names)} would both be the default class, but Kubernetes allows only "
            f"one: first unset it on {' and '.join(others)}"
        )
    ]


def next_class(
    spec: TierSpec, taken: Collection[str], same: Collection[str] = ()
) -> str:
    """The name of the class of a desired tier.

    Args:
        spec: the tier.
        taken: names of classes that exist, or ever belonged to this tier.
        same: the tier's existing classes with this value and policy; the latest is reused, so
            that undoing a change creates no new class.
    """
    if same:
        return max(same, key=version_of)
    versions = [version_of(n) for n in taken if n.rpartition("-v")[0] == spec.name]
    return f"{spec.name}-v{max(versions, default=0) + 1}"


def version_of(class_name: str) -> int:
    """The number in `batch-v2`; 0 for a name without one."""
    tail = class_name.rpartition("-v")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0
