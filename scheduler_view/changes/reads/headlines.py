"""The quota or tier that each edit of a change set replaces, from the database's history."""

from collections.abc import Iterable, Mapping, Sequence

from django.apps import apps

from accounting.access.reads.teams import known_teams
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import (
    Edit,
    QueueEdit,
    QuotaEdit,
    TierEdit,
    stored_edit,
)
from scheduler_view.changes.rules.headline import Move, move_of, title
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.quotas.rules.tiers import TierSpec

Key = tuple[int, int, tuple[str, ...]]  # cluster, version, key of the edit


def moves_of(rows: Sequence[ChangeSet]) -> dict[int, list[Move]]:
    """The changes of change sets, by number, in the order of their edits; four queries.

    An edit names its base version, and that version stays in the history: so a title does not
    change when the change set is applied.
    """
    edits = {row.pk: [stored_edit(one) for one in row.edits] for row in rows}
    versions = {
        edit.version for found in edits.values() for edit in found if edit.version
    }
    before: dict[Key, Edit] = {}
    if versions:
        before = {**_quotas(versions), **_tiers(versions), **_queues(versions)}
    names = {team.slug: team.name for team in known_teams().values()}
    return {
        row.pk: [
            move_of(edit, _back(row.cluster_id, edit, before), names)
            for edit in edits[row.pk]
        ]
        for row in rows
    }


def titles_of(numbers: Iterable[int]) -> dict[int, str]:
    """The titles of change sets, by number; five queries."""
    return titles_of_rows([*ChangeSet.objects.filter(pk__in=numbers)])


def titles_of_rows(rows: Sequence[ChangeSet]) -> dict[int, str]:
    """The same of change sets that are read; four queries, none without rows."""
    if not rows:
        return {}
    moves = moves_of(rows)
    found = {}
    for row in rows:
        text = title(moves[row.pk])
        found[row.pk] = f"Undo of CS-{row.undoes_id}: {text}" if row.undoes_id else text
    return found


def _back(cluster: int, edit: Edit, before: Mapping[Key, Edit]) -> Edit | None:
    if edit.version == 0:  # there was none
        if isinstance(edit, TierEdit):
            return TierEdit(edit.spec, remove=True)
        if isinstance(edit, QueueEdit):
            return None  # its plan shows the value in the cluster
        return QuotaEdit(
            edit.team, edit.resource, None, edit.tier, edit.rule, edit.weights
        )
    return before.get((cluster, edit.version or 0, edit.key))


def _quotas(versions: Iterable[int]) -> dict[Key, Edit]:
    events = apps.get_model("scheduler_view", "QuotaTargetEvent")
    rows = events.objects.filter(version__in=versions).order_by("pgh_id")
    names = ("team__slug", "resource", "gpus", "tier", "rule", "weights")
    found: dict[Key, Edit] = {}
    for cluster, version, *values in rows.values_list("cluster_id", "version", *names):
        team, resource, gpus, tier, rule, weights = values
        edit = QuotaEdit(team, resource, gpus, tier, SplitRule(rule), weights)
        found[cluster, version, edit.key] = edit
    return found


def _tiers(versions: Iterable[int]) -> dict[Key, Edit]:
    events = apps.get_model("scheduler_view", "TierEvent")
    rows = events.objects.filter(version__in=versions).order_by("pgh_id")
    names = ("cluster_id", "version", "name", "value")
    return {
        (cluster, version, (name,)): TierEdit(TierSpec(name, value))
        for cluster, version, name, value in rows.values_list(*names)
    }


def _queues(versions: Iterable[int]) -> dict[Key, Edit]:
    events = apps.get_model("scheduler_view", "QueueTargetEvent")
    rows = events.objects.filter(version__in=versions).order_by("pgh_id")
    names = ("cluster_id", "version", "kind", "name", "field", "value")
    found: dict[Key, Edit] = {}
    for cluster, version, *values in rows.values_list(*names):
        edit = QueueEdit(*values)
        found[cluster, version, edit.key] = edit
    return found
