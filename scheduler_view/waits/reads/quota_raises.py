"""Larger quotas of teams that would let waiting work in, and changes that already ask for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from accounting.access.scope import Scope
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import QuotaEdit, stored_edit
from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.clusters.rules.wording import listed, units
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.rules.quota_objects import quota_key_of
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.waits.reads.waiting_row import Change

UNDECIDED = (
    ChangeState.DRAFT,
    ChangeState.PLANNED,
    ChangeState.APPROVED,
    ChangeState.SCHEDULED,
    ChangeState.APPLYING,
)


@dataclass(frozen=True, slots=True)
class QuotaRaise:
    """Quotas of teams with which waiting work would be let in.

    Attributes:
        edits: one for each quota that is used up.
        more: how many units each adds, and to which namespace.
        asked: the number of the newest change set that sets as much and is not decided; None
            without one.
    """

    edits: tuple[QuotaEdit, ...]
    more: tuple[tuple[int, str], ...]
    asked: int | None = None

    @property
    def text(self) -> str:
        """`a quota of 78 GPUs, 1 more for vision-lab`; with a tier and another resource."""
        both = zip(self.edits, self.more, strict=True)
        return listed([_text(edit, more) for edit, more in both], " and ")

    @property
    def token(self) -> str:
        """Tells it from the others of the same work, in forms."""
        return "|".join(f"{one.resource},{one.tier},{one.gpus}" for one in self.edits)


def quota_raises(
    scope: Scope, cluster: Cluster, changes: Iterable[Change]
) -> list[QuotaRaise]:
    """Of changes of which each is enough, those that raise quotas of GPU Ledger and nothing else.

    Only quotas of teams for which the person may ask: all of an administrator, the led ones of a
    lead. The plan of the change set then shows how the team's quota is divided.
    """
    wanted = [
        parts
        for parts in map(_parts, changes)
        if all(part["change"] == "raise_quota" for part in parts)
    ]
    if not wanted:
        return []
    targets = QuotaTarget.objects.filter(cluster=cluster).select_related("team")
    if not scope.is_admin:
        targets = targets.filter(team__in=scope.lead_of)
    keys = {
        (f"{place}/{quota_key_of(place, one.tier).name}", one.resource): (one, place)
        for one in targets
        for place in one.split
    }
    found = [_raise_of(parts, keys) for parts in wanted]
    asked = _undecided(cluster)
    return [replace(one, asked=_number(one, asked)) for one in found if one]


def _parts(change: Change) -> Sequence[Change]:
    parts: Sequence[Change] = change.get("changes", [change])
    return parts


def _raise_of(
    parts: Sequence[Change],
    keys: Mapping[tuple[str, str], tuple[QuotaTarget, str]],
) -> QuotaRaise | None:
    edits, more = [], []
    for part in parts:
        resource = resource_of(part["key"]) or ""
        target, place = keys.get((part["quota"], resource), (None, ""))
        if target is None or int(part["to"]) <= target.split[place]:
            return None  # of somebody else, or as large already and on its way to the cluster
        edits.append(_raised_edit(target, place, int(part["to"])))
        more.append((int(part["to"]) - target.split[place], place))
    return QuotaRaise(tuple(edits), tuple(more))


def _raised_edit(target: QuotaTarget, place: str, share: int) -> QuotaEdit:
    """A quota with a larger share for one namespace, and the same for the others.

    Over several namespaces the shares become its weights: by its rule, others would also get more.
    """
    split = target.split | {place: share}
    is_listed = target.rule == SplitRule.LISTED
    by_shares = {
        "rule": SplitRule.LISTED if is_listed else SplitRule.WEIGHTS,
        "weights": split,
    }
    return QuotaEdit(
        target.team.slug,
        target.resource,
        sum(split.values()),
        target.tier,
        version=target.version,
        **by_shares if len(split) > 1 else {},
    )


def asked_already(cluster: Cluster, raised: QuotaRaise) -> int | None:
    """The newest change set that is not decided and sets as much; None without one."""
    return _number(raised, _undecided(cluster))


def _undecided(cluster: Cluster) -> list[tuple[int, list[QuotaEdit]]]:
    rows = ChangeSet.objects.filter(cluster=cluster, state__in=UNDECIDED)
    return [
        (number, [one for one in map(stored_edit, edits) if isinstance(one, QuotaEdit)])
        for number, edits in rows.order_by("-pk").values_list("pk", "edits")
    ]


def _number(
    raised: QuotaRaise, asked: Iterable[tuple[int, Sequence[QuotaEdit]]]
) -> int | None:
    """The newest change set that gives each namespace as much."""
    needs = list(zip(raised.edits, raised.more, strict=True))
    for number, edits in asked:
        given = {one.key: one for one in edits}
        if all(_gives(given.get(one.key), one, place) for one, (_, place) in needs):
            return number
    return None


def _gives(given: QuotaEdit | None, wanted: QuotaEdit, place: str) -> bool:
    """Whether an edit gives a namespace as much as another; by a rule it is not known before."""
    if given is None or given.gpus is None or wanted.gpus is None:
        return False
    if not wanted.weights:
        return given.gpus >= wanted.gpus
    weights = sum(given.weights.values())
    share = given.gpus * given.weights.get(place, 0) // weights if weights else 0
    return share >= wanted.weights[place]


def _text(edit: QuotaEdit, added: tuple[int, str]) -> str:
    tier = f" of the tier {edit.tier}" if edit.tier else ""
    amount = f"{edit.gpus:,} {units(edit.resource, edit.gpus)}"
    more, place = added
    return f"a quota of {amount}{tier}, {more:,} more for {place}"
