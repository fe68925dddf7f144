"""The content of a change set: edits of quotas, tiers and queues of schedulers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.quotas.rules.tiers import TierSpec

MOST_EDITS = 5_000  # of one change set; more than the teams of the largest fleet


@dataclass(frozen=True, slots=True)
class EditFault:
    """The fault of one edit: its position in the list, the field, and the reason."""

    index: int
    field: str
    text: str

    def __str__(self) -> str:
        return f"edit {self.index + 1}, {self.field}: {self.text}"


class EditsRefused(ValueError):
    """Edits that are not valid, with all faults."""

    def __init__(self, faults: list[EditFault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class QuotaEdit:
    """A quota: the units of a resource that a team may hold; None removes it.

    Attributes:
        rule, weights: of the division over the team's namespaces; a rule that is None is the one
            that the quota has, or the weights if they are given, else evenly.
        split: the division itself, if a change is undone.
        version: base version of the quota; 0 if there was none, None if not known yet.
    """

    team: str
    resource: str
    gpus: int | None
    tier: str = ""
    rule: SplitRule | None = None
    weights: Mapping[str, int] = field(default_factory=dict)
    split: Mapping[str, int] | None = None
    version: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the quota."""
        return self.team, self.resource, self.tier

    @property
    def split_rule(self) -> SplitRule:
        """The rule of a quota that has none yet, unless it is given."""
        if self.rule is None:
            return SplitRule.WEIGHTS if self.weights else SplitRule.EVENLY
        return self.rule


@dataclass(frozen=True, slots=True)
class TierEdit:
    """A desired tier; `remove` deletes it.

    Attributes:
        in_place: delete its class and create it again under the same name, instead of a
            new version; disruptive, so a person must request it.
        class_name: of a new tier that takes over a class of this name; empty for a class of its
            own.
        classes: all of its classes, the current first, if its removal is undone.
    """

    spec: TierSpec
    remove: bool = False
    in_place: bool = False
    class_name: str = ""
    classes: Sequence[str] = ()
    version: int | None = None

    @property
    def key(self) -> tuple[str]:
        """The key of the tier."""
        return (self.spec.name,)


@dataclass(frozen=True, slots=True)
class QueueEdit:
    """The value of one field of a queue or another object of a scheduler.

    Attributes:
        object: the kind, such as `ClusterQueue`, `VolcanoQueue`, `KaiQueue`.
        name: of the object.
        field: such as `a100/nvidia.com/gpu/nominalQuota`, `weight`.
        value: as typed; None if it must not be set.
        release: GPU Ledger does not manage the field afterwards; for fields that are applied,
            `value` is None then, and the field is left to other managers.
    """

    object: str
    name: str
    field: str
    value: str | None
    release: bool = False
    version: int | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of the field."""
        return "queue", self.object, self.name, self.field


Edit = QuotaEdit | TierEdit | QueueEdit


@dataclass(frozen=True, slots=True)
class Draft:
    """The content of a change set.

    Attributes:
        forced: objects whose fields may be taken over from other managers, as `str(ObjectKey)`.
        starts_at: earliest start; None at once.
        ends_at: time of the automatic undo: a loan.
    """

    edits: Sequence[Edit]
    reason: str
    forced: Sequence[str] = ()
    starts_at: datetime | None = None
    ends_at: datetime | None = None


def edit_fields(edit: Edit) -> dict[str, Any]:
    """The edit as it is stored and printed."""
    if isinstance(edit, TierEdit):
        values = {"kind": "tier", **asdict(edit.spec)}
        extra: dict[str, Any] = {"in_place": edit.in_place, "remove": edit.remove}
        extra |= {"class_name": edit.class_name} if edit.class_name else {}
        extra |= {"classes": list(edit.classes)} if edit.classes else {}
        return values | extra | {"version": edit.version}
    if isinstance(edit, QueueEdit):
        return {"kind": "queue", **asdict(edit)}
    values = {"kind": "quota", **asdict(edit), "rule": edit.split_rule.value}
    if edit.split is None:
        values.pop("split")
    return values


def stored_edit(values: Mapping[str, Any]) -> Edit:
    """The edit from the output of `edit_fields`."""
    rest = {key: value for key, value in values.items() if key != "kind"}
    if values["kind"] == "tier":
        names = ("in_place", "remove", "version", "class_name", "classes")
        outer = {name: rest.pop(name) for name in names if name in rest}
        return TierEdit(TierSpec(**rest), **outer)
    if values["kind"] == "queue":
        return QueueEdit(**rest)
    return QuotaEdit(**rest | {"rule": SplitRule(rest["rule"])})


def same_request(first: Iterable[Edit], second: Iterable[Edit]) -> bool:
    """True if both have the same values, with any base version."""
    one, other = ({edit.key: edit for edit in edits} for edits in (first, second))
    return one.keys() == other.keys() and all(
        _same(edit, other[key]) for key, edit in one.items()
    )


def _same(first: Edit, second: Edit) -> bool:
    left_out = {"version", "split", "classes"}
    if any(_takes_any_rule(edit) for edit in (first, second)):
        left_out |= {"rule", "weights"}
    one, other = edit_fields(first), edit_fields(second)
    names = (one.keys() | other.keys()) - left_out
    return all(one.get(name) == other.get(name) for name in names)


def _takes_any_rule(edit: Edit) -> bool:
    return isinstance(edit, QuotaEdit) and edit.rule is None and not edit.weights
