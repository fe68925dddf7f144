"""Finds teams, workloads and GPUs by a part of their name, within a scope."""

from dataclasses import dataclass

from django.db import connection

from accounting.access import Scope

_QUERY = """
    (SELECT 'team' AS kind, t.slug AS key, t.name AS name, t.department AS more, t.slug AS team
     FROM accounting_team t
     WHERE (t.name ILIKE %(words)s OR t.slug ILIKE %(words)s)
       AND (%(teams)s::bigint[] IS NULL OR t.id = ANY(%(teams)s))
     ORDER BY t.name LIMIT 6)
    UNION ALL
    (SELECT DISTINCT 'workload', w.name, w.name, n.name, t.slug
     FROM accounting_workload w
     JOIN accounting_namespace n ON n.id = w.namespace_id
     JOIN accounting_pod p ON p.workload_id = w.id
     JOIN accounting_podattribution a ON a.pod_id = p.id
     JOIN accounting_team t ON t.id = a.team_id
     WHERE w.name ILIKE %(words)s
       AND (%(teams)s::bigint[] IS NULL OR t.id = ANY(%(teams)s))
     ORDER BY w.name, n.name LIMIT 6)
    UNION ALL
    (SELECT 'gpu', g.uuid, g.uuid, g.model, ''
     FROM accounting_gpu g
     WHERE g.uuid ILIKE %(words)s AND %(teams)s::bigint[] IS NULL
     ORDER BY g.uuid LIMIT 6)
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result: `kind` is team, workload or gpu; `team` the slug it belongs to."""

    kind: str
    key: str
    name: str
    more: str
    team: str


def find(scope: Scope, words: str) -> list[Hit]:
    """At most six of each kind; empty for less than two characters."""
    if len(words) < 2:
        return []
    pattern = (
        "%" + words.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + "%"
    )
    teams = None if scope.team_ids is None else sorted(scope.team_ids)
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, {"words": pattern, "teams": teams})
        return [Hit(*row) for row in cursor.fetchall()]
