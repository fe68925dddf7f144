"""Larger quotas of teams that would let waiting work in, and changes that already ask for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from accounting.access.scope import Scope
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import QuotaEdit, stored_edit
from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.clusters.rules.wording import listed, units
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.rules.quota_objects import quota_key_of
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
        teams: their ids.
        asked: the number of the newest change set that sets as much and is not decided; None
            without one.
    """

    edits: tuple[QuotaEdit, ...]
    teams: frozenset[int]
    asked: int | None = None

    @property
    def text(self) -> str:
        """`a quota of 78 GPUs`, and for one tier or another resource its name."""
        return listed([_text(edit) for edit in self.edits], " and ")

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
        for one in changes
        if all(part["change"] == "raise_quota" for part in _parts(one))
        for parts in [_parts(one)]
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
    return [
        QuotaRaise(one.edits, one.teams, _number(one, asked)) for one in found if one
    ]


def _parts(change: Change) -> Sequence[Change]:
    parts: Sequence[Change] = change.get("changes", [change])
    return parts


def _raise_of(
    parts: Sequence[Change],
    keys: Mapping[tuple[str, str], tuple[QuotaTarget, str]],
) -> QuotaRaise | None:
    edits, teams = [], set()
    for part in parts:
        resource = resource_of(part["key"]) or ""
        known = keys.get((part["quota"], resource))
        if known is None:
            return None
        target, place = known
        gpus = enough(target.gpus, target.split[place], int(part["to"]))
        edits.append(
            QuotaEdit(
                target.team.slug, resource, gpus, target.tier, version=target.version
            )
        )
        teams.add(target.team_id)
    return QuotaRaise(tuple(edits), frozenset(teams))


def enough(gpus: int, share: int, wanted: int) -> int:
    """A quota of a team whose share of one namespace is at least `wanted`, if shares stay alike.

    Args:
        gpus: the quota now.
        share: of the namespace, of them.
        wanted: more than the share.
    """
    return gpus + wanted if share == 0 else -(-wanted * gpus // share)


def _undecided(cluster: Cluster) -> list[tuple[int, list[QuotaEdit]]]:
    rows = ChangeSet.objects.filter(cluster=cluster, state__in=UNDECIDED)
    return [
        (number, [one for one in map(stored_edit, edits) if isinstance(one, QuotaEdit)])
        for number, edits in rows.order_by("-pk").values_list("pk", "edits")
    ]


def _number(
    raise_: QuotaRaise, asked: Iterable[tuple[int, Sequence[QuotaEdit]]]
) -> int | None:
    for number, edits in asked:
        given = {one.key: one.gpus for one in edits}
        if all((given.get(one.key) or 0) >= (one.gpus or 0) for one in raise_.edits):
            return number
    return None


def _text(edit: QuotaEdit) -> str:
    tier = f" of the tier {edit.tier}" if edit.tier else ""
    return f"a quota of {edit.gpus:,} {units(edit.resource)}{tier}"
