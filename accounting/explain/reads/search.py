"""Finds teams, families, runs, GPUs, models and nodes by a part of their name, within a scope."""

from dataclasses import dataclass

from django.db import connection

from accounting.access.scope import Scope

MOST = 6  # of each kind

_QUERY = """
    (SELECT 'team' AS kind, t.slug AS key, t.name AS name, t.department AS more, t.slug AS team
     FROM accounting_team t
     WHERE (t.name ILIKE %(words)s OR t.slug ILIKE %(words)s)
       AND (%(teams)s::bigint[] IS NULL OR t.id = ANY(%(teams)s))
     ORDER BY t.name LIMIT %(most)s)
    UNION ALL
    (WITH found AS (
         SELECT DISTINCT w.kind, w.name, w.family, n.name AS namespace, t.slug, t.name AS team
         FROM accounting_workload w
         JOIN accounting_namespace n ON n.id = w.namespace_id
         JOIN accounting_pod p ON p.workload_id = w.id
         JOIN accounting_podattribution a ON a.pod_id = p.id
         JOIN accounting_team t ON t.id = a.team_id
         WHERE (w.name ILIKE %(words)s OR w.family ILIKE %(words)s)
           AND (%(teams)s::bigint[] IS NULL OR t.id = ANY(%(teams)s))
     ), families AS (
         SELECT DISTINCT family, namespace, slug FROM found
         WHERE family ILIKE %(words)s ORDER BY family, namespace, slug LIMIT %(most)s
     ), runs AS (  -- of which the words say more than their family
         SELECT * FROM found WHERE family NOT ILIKE %(words)s
     ), first AS (SELECT * FROM runs ORDER BY name, namespace LIMIT %(most)s)
     SELECT 'family', family, family, namespace, slug FROM families
     UNION ALL
     SELECT 'workload', kind || '/' || name, name, namespace, slug FROM first
     UNION ALL
     SELECT 'workloads', %(typed)s, team, count(*)::text, slug
     FROM runs WHERE (SELECT count(*) FROM runs) > %(most)s GROUP BY slug, team)
    UNION ALL
    (SELECT 'gpu', g.uuid, g.uuid, g.model, ''
     FROM accounting_gpu g
     WHERE g.uuid ILIKE %(words)s AND NOT g.is_placeholder AND %(teams)s::bigint[] IS NULL
     ORDER BY g.uuid LIMIT %(most)s)
    UNION ALL
    (SELECT DISTINCT 'model', u.model, u.model, '', ''
     FROM usage_day u
     WHERE u.model ILIKE %(words)s
       AND (%(teams)s::bigint[] IS NULL OR u.team_id = ANY(%(teams)s))
     ORDER BY u.model LIMIT %(most)s)
    UNION ALL
    (SELECT 'node', n.name, n.name, c.name || CASE WHEN EXISTS (
            SELECT FROM accounting_gpupresence g WHERE g.node_id = n.id AND g.end_ms IS NULL
        ) THEN '' ELSE ', has no GPUs now' END, ''
     FROM accounting_node n JOIN accounting_cluster c ON c.id = n.cluster_id
     WHERE n.name ILIKE %(words)s
       AND (%(teams)s::bigint[] IS NULL OR EXISTS (
            SELECT FROM accounting_podhold h JOIN accounting_podattribution a USING (pod_id)
            WHERE h.node_id = n.id AND a.team_id = ANY(%(teams)s)))
     ORDER BY n.name, c.name LIMIT %(most)s)
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result.

    Attributes:
        kind: team, family, workload, workloads (all of a team, if there are more than are listed),
            gpu, model, node, unit, change, entry, person.
        key: what its address needs.
        more: what distinguishes it from others of the same name.
        team: the slug it belongs to; empty if it has none.
    """

    kind: str
    key: str
    name: str
    more: str = ""
    team: str = ""


def _pattern_of(words: str) -> str:
    """The pattern of ILIKE for names that contain these words."""
    text = words.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{text}%"


def find(scope: Scope, words: str) -> list[Hit]:
    """At most `MOST` of each kind; empty for less than two characters."""
    if len(words) < 2:
        return []
    teams = None if scope.team_ids is None else sorted(scope.team_ids)
    values = {
        "words": _pattern_of(words),
        "typed": words,
        "teams": teams,
        "most": MOST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, values)
        return [Hit(*row) for row in cursor.fetchall()]
