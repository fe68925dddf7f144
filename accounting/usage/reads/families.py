"""The runs of families: how many each has, on which GPU models, and those of one (rules.md N41)."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.kit.reads.selection import Selection
from accounting.metering.reads.clusters import has_one_cluster
from accounting.usage.reads.relation.relation import relation

Names = tuple[str, str]  # namespace, family


@dataclass(frozen=True, slots=True)
class FamilyRuns:
    """What ran of one family in a range.

    Attributes:
        count: workloads with held time.
        models: of the GPUs that they held; "" for an unknown one.
    """

    count: int
    models: tuple[str, ...]


def runs_of_families(
    selection: Selection, families: Collection[Names] = ()
) -> dict[Names, FamilyRuns]:
    """The runs of all families of a selection, or of some; one query.

    A workload of several clusters under one name is one run, as in reports by workload.
    """
    if families:
        spaces, names = zip(*families, strict=True)
        only = {"namespace": tuple({*spaces}), "family": tuple({*names})}
        selection = replace(selection, filters={**selection.filters, **only})
    chosen = relation(selection, ("workload", "family"))
    run = "u.workload_id" if has_one_cluster() else "(wl.kind, wl.name)"
    query = f"""
        SELECT n.name, u.family, count(DISTINCT {run}),
               array_agg(DISTINCT u.model ORDER BY u.model)
        FROM (SELECT DISTINCT u.namespace_id, u.workload_id, u.family, u.model
              FROM ({chosen.body}) u {" ".join(chosen.filter_joins)}
              WHERE {chosen.condition} AND {chosen.is_held}) u
        JOIN accounting_namespace n ON n.id = u.namespace_id
        LEFT JOIN accounting_workload wl ON wl.id = u.workload_id
        GROUP BY n.name, u.family
    """  # built from this project's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters)
        return {
            (space, family): FamilyRuns(count, tuple(models))
            for space, family, count, models in cursor.fetchall()
        }


@dataclass(frozen=True, slots=True)
class RunTime:
    """When a run held GPUs.

    Attributes:
        began_ms, ended_ms: of its first and last hold; `ended_ms` is None while it holds GPUs.
        gpus: the most that it held at once, of all its pods; a shared GPU counts by its share.
    """

    began_ms: int
    ended_ms: int | None
    gpus: Decimal


_HOLDS = """
    WITH held AS MATERIALIZED (
        SELECT w.kind, w.name, h.bound_ms, h.ended_ms,
               h.units::numeric * h.share_numerator / h.share_denominator AS gpus
        FROM accounting_workload w
        JOIN accounting_namespace n ON n.id = w.namespace_id
        JOIN accounting_cluster c ON c.id = w.cluster_id
        JOIN accounting_pod p ON p.workload_id = w.id
        JOIN accounting_podhold h ON h.pod_id = p.id
        LEFT JOIN accounting_podattribution a ON a.pod_id = p.id
            AND a.valid_from <= to_timestamp(h.bound_ms / 1000.0)
            AND to_timestamp(h.bound_ms / 1000.0) < a.valid_to
        LEFT JOIN accounting_team t ON t.id = a.team_id
        WHERE n.name = %(namespace)s AND w.family = %(family)s
          AND (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))
          AND coalesce(t.slug, 'unmapped') = %(team)s
          AND (%(scope)s::bigint[] IS NULL OR a.team_id = ANY(%(scope)s))
    ), changes AS (
        SELECT kind, name, bound_ms AS at_ms, gpus, ended_ms IS NULL AS is_open FROM held
        UNION ALL
        SELECT kind, name, ended_ms, -gpus, false FROM held WHERE ended_ms IS NOT NULL
    ), sums AS (
        SELECT kind, name, at_ms, is_open,
               sum(gpus) OVER (PARTITION BY kind, name ORDER BY at_ms, gpus) AS gpus
        FROM changes
    )
    SELECT kind, name, min(at_ms), CASE WHEN NOT bool_or(is_open) THEN max(at_ms) END, max(gpus)
    FROM sums GROUP BY kind, name
"""


def run_times(
    selection: Selection, team: str, namespace: str, family: str
) -> dict[tuple[str, str], RunTime]:
    """When the runs of a family held GPUs, by kind and name; one query.

    Their whole time, whatever the range is. Holds are kept longer than five-minute facts.
    """
    teams = selection.scope.team_ids
    parameters: dict[str, Any] = {
        "namespace": namespace,
        "family": family,
        "team": team,
        "clusters": list(selection.filters["cluster"])
        if "cluster" in selection.filters
        else None,
        "scope": None if teams is None else sorted(teams),
    }
    with connection.cursor() as cursor:
        cursor.execute(_HOLDS, parameters)
        return {
            (kind, name): RunTime(began, ended, gpus)
            for kind, name, began, ended, gpus in cursor.fetchall()
        }


def was_of_team(team_id: int, namespace: str, family: str) -> bool:
    """Whether a team ever held time of a family."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT EXISTS (
                   SELECT FROM accounting_namespace n
                   JOIN usage_family_day u ON u.namespace_id = n.id
                   WHERE n.name = %s AND u.family = %s AND u.team_id = %s)""",
            [namespace, family, team_id],
        )
        return bool(cursor.fetchone()[0])
