"""Bindings: which usage belongs to which team, from when."""

from datetime import datetime

from django.db import connection

from accounting.access.models.teams import Binding, Team
from accounting.kit.audit import Actor, act
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks.evidence.workloads import resolve_pods


def rebind(*_: object) -> int:
    """Resolve the team of every pod again and mark the changed hours dirty.

    Facts contain no team, so no samples are read again. A back-dated rule applies as far back as
    facts are kept (rules.md N32). Returns the number of changed pods.
    """
    changed = 0
    for cluster in Cluster.objects.all():
        pods = resolve_pods(cluster)
        changed += len(pods)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
                SELECT DISTINCT %s, date_trunc('hour', window_start, 'UTC'),
                       statement_timestamp(), 'binding'
                FROM usage_window
                WHERE cluster_id = %s AND pod_id = ANY(%s)
                ON CONFLICT (cluster_id, hour_start)
                    DO UPDATE SET marked_at = excluded.marked_at
                """,
                [cluster.pk, cluster.pk, list(pods)],
            )
    return changed


def add_binding(
    *,
    kind: str,
    label: str,
    glob: str,
    team: Team,
    valid_from: datetime,
    position: int | None = None,
    actor: Actor,
    reason: str,
) -> Binding:
    """Add a rule, in the last position unless one is given."""
    with act(actor, reason):
        last = Binding.objects.order_by("-position").first()
        after = 0 if last is None else last.position + 1
        binding = Binding(
            kind=kind,
            label=label,
            glob=glob,
            team=team,
            valid_from=valid_from,
            position=after if position is None else position,
        )
        binding.full_clean()
        binding.save()
        rebind()
    return binding


def end_binding(
    binding: Binding, *, valid_to: datetime, actor: Actor, reason: str
) -> None:
    """End a rule at a time; usage before that time keeps its team."""
    with act(actor, reason):
        binding.valid_to = valid_to
        binding.full_clean()
        binding.save(update_fields=["valid_to"])
        rebind()
