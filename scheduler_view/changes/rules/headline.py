"""A change set in one line: its title, and a summary of its plan.

`Forecasting: 24 → 30 GPUs` is the title of a change set on all pages; `1 quota raised: 1
object changed` is the headline of its plan.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scheduler_view.changes.rules.edit import Edit, QueueEdit, QuotaEdit, TierEdit
from scheduler_view.changes.rules.steps import Action
from scheduler_view.clusters.rules.wording import counted, units

SPELLED = 2  # changes that a title spells out; more are counted


class PlanVerb(StrEnum):
    """What happens to a quota or a tier; in the order of a summary."""

    RAISED = "raised"
    LOWERED = "lowered"
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RELEASED = "released"
    SET = "set"  # the previous value is not known
    KEPT = "unchanged"


@dataclass(frozen=True, slots=True)
class QuotaMove:
    """One quota of a change set.

    Attributes:
        team: its displayed name.
        before, after: units; None for no quota.
        is_known: the previous value is known.
        is_redivided: the rule of its division over namespaces changed.
    """

    team: str
    resource: str
    tier: str
    before: int | None
    after: int | None
    is_known: bool = True
    is_redivided: bool = False

    @property
    def verb(self) -> PlanVerb:
        """What becomes of it."""
        if self.after is None:
            return PlanVerb.REMOVED
        if not self.is_known:
            return PlanVerb.SET
        if self.before is None:
            return PlanVerb.ADDED
        if self.before == self.after:
            return PlanVerb.CHANGED if self.is_redivided else PlanVerb.KEPT
        return PlanVerb.RAISED if self.before < self.after else PlanVerb.LOWERED

    @property
    def text(self) -> str:
        """`Forecasting, tier batch: 24 → 30 GPUs`."""
        who = f"{self.team}, tier {self.tier}" if self.tier else self.team
        if self.after is None:
            if self.before is None:  # none, or not known
                return f"{who}: no quota"
            return f"{who}: {_amount(self.before, self.resource)} → no quota"
        after = _amount(self.after, self.resource)
        if not self.is_known:
            return f"{who}: {after}"
        if self.before is None:
            return f"{who}: no quota → {after}"
        if self.before == self.after:
            divided = self.is_redivided
            return (
                f"{who}: {after}, {'divided differently' if divided else 'unchanged'}"
            )
        return f"{who}: {self.before:,} → {after}"


@dataclass(frozen=True, slots=True)
class TierMove:
    """One tier of a change set; its numbers are priorities of the PriorityClass."""

    name: str
    before: int | None
    after: int | None
    is_known: bool = True

    @property
    def verb(self) -> PlanVerb:
        """What happens to it."""
        if self.after is None:
            return PlanVerb.REMOVED
        if not self.is_known:
            return PlanVerb.SET
        return PlanVerb.ADDED if self.before is None else PlanVerb.CHANGED

    @property
    def text(self) -> str:
        """`Tier batch: priority 1,000 → 2,000`."""
        who = f"Tier {self.name}"
        if self.after is None:
            return f"{who}: removed"
        if not self.is_known:
            return f"{who}: priority {self.after:,}"
        if self.before is None:
            return f"{who}: new, priority {self.after:,}"
        if self.before == self.after:
            return f"{who}: properties changed"
        return f"{who}: priority {self.before:,} → {self.after:,}"


@dataclass(frozen=True, slots=True)
class QueueMove:
    """One field of a queue.

    Attributes:
        queue: `ClusterQueue vision`.
        is_known: the previous value is known.
        is_released: it is not managed afterwards.
    """

    queue: str
    field: str
    before: str | None
    after: str | None
    is_known: bool = True
    is_released: bool = False

    @property
    def verb(self) -> PlanVerb:
        """What happens to it."""
        if self.is_released:
            return PlanVerb.RELEASED
        return PlanVerb.CHANGED if self.is_known else PlanVerb.SET

    @property
    def text(self) -> str:
        """`ClusterQueue vision, a100/nvidia.com/gpu/nominalQuota: 4 → 8`."""
        who = f"{self.queue}, {self.field}"
        after = "not set" if self.after is None else self.after
        if self.is_released:
            return f"{who}: no longer managed"
        if not self.is_known:
            return f"{who}: {after}"
        return f"{who}: {'not set' if self.before is None else self.before} → {after}"


Move = QuotaMove | TierMove | QueueMove


def move_of(edit: Edit, back: Edit | None, names: Mapping[str, str]) -> Move:
    """An edit compared with the one that would undo it.

    Args:
        back: the edit that restores the previous value; None if not known.
        names: of teams, by slug; for a missing name, the slug is used.
    """
    if isinstance(edit, TierEdit):
        was = None
        if isinstance(back, TierEdit) and not back.remove:
            was = back.spec.value
        after = None if edit.remove else edit.spec.value
        return TierMove(edit.spec.name, was, after, back is not None)
    if isinstance(edit, QueueEdit):
        is_known = isinstance(back, QueueEdit)
        return QueueMove(
            f"{edit.object} {edit.name}",
            edit.field,
            back.value if isinstance(back, QueueEdit) else None,
            edit.value,
            is_known,
            edit.release,
        )
    name = names.get(edit.team, edit.team)
    before = back if isinstance(back, QuotaEdit) else None
    return QuotaMove(
        name,
        edit.resource,
        edit.tier,
        before.gpus if before else None,
        edit.gpus,
        is_known=before is not None,
        is_redivided=before is not None and _rule(before) != _rule(edit),
    )


def _rule(edit: QuotaEdit) -> tuple[str, dict[str, int]]:
    return edit.split_rule.value, dict(edit.weights)


def title(moves: Sequence[Move]) -> str:
    """The title of a change set: its changes if there are few, else their number."""
    if len(moves) <= SPELLED:
        return "; ".join(move.text for move in moves) or "Nothing"
    quotas = [move for move in moves if isinstance(move, QuotaMove)]
    queues = sum(isinstance(move, QueueMove) for move in moves)
    tiers = len(moves) - len(quotas) - queues
    teams = {move.team for move in quotas}
    parts = []
    if quotas:
        whose = next(iter(teams)) if len(teams) == 1 else counted(len(teams), "team")
        parts.append(f"{counted(len(quotas), 'quota')} of {whose}")
    if tiers:
        parts.append(counted(tiers, "tier"))
    if queues:
        parts.append(counted(queues, "value") + " of queues")
    return ", ".join(parts)


def summary(moves: Iterable[Move], actions: Iterable[Action]) -> str:
    """`1 quota raised, 1 tier changed: 2 objects changed, 1 unchanged`."""
    of_moves: dict[tuple[str, PlanVerb], int] = {}
    for move in moves:
        noun = _NOUNS[type(move)]
        of_moves[noun, move.verb] = of_moves.get((noun, move.verb), 0) + 1
    order = [(noun, verb) for noun in _NOUNS.values() for verb in PlanVerb]
    first = [
        f"{counted(of_moves[key], key[0])} {key[1]}" for key in order if key in of_moves
    ]
    count: dict[Action, int] = {}
    for action in actions:
        count[action] = count.get(action, 0) + 1
    second = [
        f"{counted(count[action], 'object')} {outcome}"
        for action, outcome in DONE.items()
        if action in count
    ]
    return ": ".join(part for part in (", ".join(first), ", ".join(second)) if part)


_NOUNS = {QuotaMove: "quota", TierMove: "tier", QueueMove: "queue value"}
DONE = {
    Action.CREATE: "created",
    Action.CHANGE: "changed",
    Action.REPLACE: "replaced",
    Action.REMOVE: "removed",
    Action.RESTORE: "restored",
    Action.KEEP: "unchanged",
}


def _amount(number: int, resource: str) -> str:
    return f"{number:,} {units(resource, number)}"
