"""The effects of a change in text and numbers, from the ledger, the prices and the cluster.

Which pods keep running, which are refused, the maximum charge of a team, and the committed GPUs
compared with the capacity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scheduler_view.clusters.rules.wording import counted, few, units, whose
from scheduler_view.quotas.rules.spend import Spending, UnitRates, spend_text


class EffectCode(StrEnum):
    """The subject of a sentence; pages choose its picture by it."""

    OVER_NEW_LIMIT = "over_new_limit"
    UNDER_NEW_LIMIT = "under_new_limit"
    PEAK = "peak"
    SPEND = "spend"
    COMMITTED = "committed"
    UNLIMITED = "unlimited"
    PRIORITY_KEPT = "priority_kept"
    PREEMPTION = "preemption"
    SPLIT = "split"
    QUEUE = "queue"


Say = Callable[[EffectCode, str], None]


@dataclass(frozen=True, slots=True)
class Effect:
    """One sentence; `team` and `resource` are empty for tiers."""

    code: EffectCode
    text: str
    team: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True)
class QuotaFacts:
    """A team's use of a resource in one cluster.

    Attributes:
        team: its slug.
        name: its displayed name.
        before, after: GPUs of the quota; None for no quota.
        in_use: units held now by the pods that the quota counts.
        peak: the most units held at once in the last 30 days; None without data.
        days_over: of the last 30 billing days, those with more than `after` held units.
        idle_percent: of held and observed time in 30 days; None if not observed.
        split: the rule of the division, as text; empty without a division.
        parts: units by namespace.
        found: units that quotas of others allow, by namespace.
        given_back: units that come back to such quotas, by namespace.
    """

    team: str
    name: str
    resource: str
    tier: str
    before: int | None
    after: int | None
    in_use: int
    peak: int | None
    days_over: int
    idle_percent: int | None
    rates: UnitRates
    currency: str
    split: str = ""
    parts: Mapping[str, int] = field(default_factory=dict)
    found: Mapping[str, int] = field(default_factory=dict)
    given_back: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResourceFacts:
    """One resource of a cluster: the sum of all quotas, and the capacity.

    Attributes:
        committed_before, committed_after: GPUs of all quotas for all tiers.
        capacity: units of the nodes; None if no node reports the resource.
        peak: the most units held at once by all teams in the last 30 days.
    """

    resource: str
    committed_before: int
    committed_after: int
    capacity: int | None
    peak: int | None


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A tier whose priority changes.

    Attributes:
        old_class, new_class: PriorityClass names; equal if it is replaced in place.
        pods: GPU pods that currently have the old class.
    """

    tier: str
    old_class: str
    new_class: str
    old_value: int
    new_value: int
    preempts: bool
    pods: int


def quota_effects(facts: QuotaFacts) -> list[Effect]:
    """The sentences of one changed quota."""
    found = []

    def say(code: EffectCode, text: str) -> None:
        found.append(Effect(code, text, facts.team, facts.resource))

    who, what = facts.name, units(facts.resource, facts.in_use)
    of_tier = f" in tier {facts.tier}" if facts.tier else ""
    if facts.after is None:
        say(
            EffectCode.UNLIMITED,
            f"{who} holds {facts.in_use} {what}{of_tier} now. {_afterwards(facts)}",
        )
    elif facts.in_use > facts.after:
        say(
            EffectCode.OVER_NEW_LIMIT,
            f"{who} holds {facts.in_use} {what}{of_tier} now and the new limit is "
            f"{facts.after}. Running pods are not stopped. New pods are refused until "
            f"{who} holds fewer than {facts.after}."
            if facts.after
            else f"{who} holds {facts.in_use} {what}{of_tier} now and the new limit is 0. "
            "Running pods are not stopped. Every new pod is refused.",
        )
    else:
        say(EffectCode.UNDER_NEW_LIMIT, _within(facts, facts.after))
    _peak(facts, say)
    spending = Spending(
        facts.name,
        facts.resource,
        facts.before,
        facts.after,
        facts.rates,
        facts.currency,
    )
    say(EffectCode.SPEND, spend_text(spending))
    if facts.split and facts.after:
        say(EffectCode.SPLIT, _division(facts, facts.after))
    return found


def _within(facts: QuotaFacts, after: int) -> str:
    """The new limit, if it is not below the current use."""
    who, of_tier = whose(facts.name), f" in tier {facts.tier}" if facts.tier else ""
    what = units(facts.resource, after)
    if facts.before is None:
        had = _listed(facts.found) if facts.found else "no quota"
        first = f"{facts.name} gets a quota of {after} {what}{of_tier}; it had {had}."
    elif facts.before == after:
        first = f"{who} quota{of_tier} stays {after} {what}."
    else:
        verb = "raised" if facts.before < after else "lowered"
        first = f"{who} quota{of_tier} is {verb} from {facts.before} to {after} {what}."
    free = after - facts.in_use
    verb = "is" if free == 1 else "are"
    # the quota counts pods that wait, too
    return f"{first} In use now: {facts.in_use}, so at most {free} {verb} free."


def _afterwards(facts: QuotaFacts) -> str:
    """What limits a team without a quota of GPU Ledger."""
    if not facts.given_back:
        if facts.found:
            return f"Quotas of others still limit it: {_listed(facts.found)}."
        return "After this change, the number is not limited."
    return (
        f"The previous quota is restored: {_listed(facts.given_back)}. GPU Ledger "
        "does not manage it afterwards."
    )


def _listed(parts: Mapping[str, int]) -> str:
    return few([f"{gpus} in {name}" for name, gpus in sorted(parts.items())])


def _division(facts: QuotaFacts, after: int) -> str:
    """The division of a quota over namespaces."""
    if len(facts.parts) == 1:
        (name,) = facts.parts
        verb = "go" if after != 1 else "goes"
        return f"All {after} {verb} to namespace {name}."
    parts = few([f"{gpus} to {name}" for name, gpus in facts.parts.items()])
    return f"{whose(facts.name)} quota is divided {facts.split}: {parts}."


def resource_effect(facts: ResourceFacts) -> Effect:
    """The committed GPUs compared with the capacity."""
    what = units(facts.resource)
    text = f"Committed quota becomes {facts.committed_after}"
    if facts.committed_after == facts.committed_before:
        text = f"Committed quota stays {facts.committed_after}"
    if facts.capacity is None:
        text += f" {what}; no node of the cluster reports this resource now."
    elif facts.capacity == 0:
        text += f" of 0 {what}."
    else:
        share = round(100 * facts.committed_after / facts.capacity)
        text += f" of {facts.capacity} {what} ({share}%)."
        if facts.committed_after > facts.capacity:
            text += " Over-commitment is allowed"
            text += (
                "." if facts.peak is None else f"; the peak in use was {facts.peak}."
            )
    return Effect(EffectCode.COMMITTED, text, resource=facts.resource)


def class_effects(facts: ClassFacts) -> list[Effect]:
    """The sentences of one changed tier."""
    found = []
    if facts.pods and facts.old_value != facts.new_value:
        verb = "keeps" if facts.pods == 1 else "keep"
        found.append(
            Effect(
                EffectCode.PRIORITY_KEPT,
                f"{counted(facts.pods, 'running GPU pod')} {verb} priority "
                f"{facts.old_value}: "
                "a pod's number is set when it is created. Pods created from now on that "
                f"name {facts.new_class} get {facts.new_value}.",
            )
        )
    found.append(
        Effect(
            EffectCode.PREEMPTION,
            f"Pods of {facts.new_class} can preempt pods of lower priority."
            if facts.preempts
            else f"Pods of {facts.new_class} do not preempt others; they can still be "
            "preempted.",
        )
    )
    if facts.old_class and facts.old_class != facts.new_class:
        found.append(
            Effect(
                EffectCode.PRIORITY_KEPT,
                f"{facts.old_class} stays for workloads that use it. New work for tier "
                f"{facts.tier} must use {facts.new_class}.",
            )
        )
    return found


def _peak(facts: QuotaFacts, say: Say) -> None:
    if facts.peak is None:
        return
    text = f"In the last 30 days {facts.name} held at most {facts.peak}"
    if facts.after is not None and facts.days_over:
        text = (
            f"In the last 30 days {facts.name} held more than {facts.after} on "
            f"{counted(facts.days_over, 'day')} (at most {facts.peak})"
        )
    if facts.idle_percent is not None:
        text += f"; {facts.idle_percent}% of what it held was idle"
    say(EffectCode.PEAK, text + ".")
