"""GPUs and nodes: what is there, who holds it now, and how it was used."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from accounting.domain.line import STATES
from accounting.domain.period import Period
from accounting.domain.report import LedgerRow
from accounting.queries.ledger import HiddenError
from accounting.queries.selection import Selection, stored_period


@dataclass(frozen=True, slots=True)
class Holding:
    """Who has a GPU in its newest window."""

    pod: str
    namespace: str
    team: str  # slug, or `unmapped`
    is_inferred: bool


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU over a period.

    Attributes:
        is_present: there in the cluster's newest window.
        ledger: its seven states without money; None where it was not there in the period.
    """

    uuid: str
    is_placeholder: bool
    cluster: str
    node: str
    model: str
    is_present: bool
    first_seen: datetime
    holders: tuple[Holding, ...]
    ledger: LedgerRow | None

    @property
    def busy_share(self) -> float | None:
        """busy / (busy + idle) of the period; None when nothing was observed."""
        if self.ledger is None:
            return None
        ms = self.ledger.milliseconds
        observed = ms["busy"] + ms["idle"]
        return ms["busy"] / observed if observed else None

    @property
    def allocated_share(self) -> float | None:
        """allocated / wall of the period; None where it was not there."""
        if self.ledger is None or not self.ledger.wall_ms:
            return None
        ms = self.ledger.milliseconds
        return (ms["busy"] + ms["idle"] + ms["unknown"]) / self.ledger.wall_ms


_GPUS = """
    SELECT DISTINCT ON (g.id) g.uuid, g.is_placeholder, c.name, n.name, g.model,
           p.end_ms IS NULL, to_timestamp(min(p.start_ms) OVER (PARTITION BY g.id) / 1000.0)
    FROM accounting_gpu g
    JOIN accounting_cluster c ON c.id = g.cluster_id
    JOIN accounting_gpupresence p ON p.gpu_id = g.id
    JOIN accounting_node n ON n.id = p.node_id
    WHERE (%(uuid)s::text IS NULL OR g.uuid = %(uuid)s)
      AND (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))
      AND (%(models)s::text[] IS NULL OR g.model = ANY(%(models)s))
      AND p.start_ms < %(end)s AND (p.end_ms IS NULL OR p.end_ms > %(start)s)
    ORDER BY g.id, p.start_ms DESC
"""
_HOLDERS = """
    SELECT g.uuid, p.name, n.name, coalesce(t.slug, 'unmapped'), (w.flags & 2) <> 0
    FROM accounting_cluster c
    CROSS JOIN LATERAL (
        SELECT i.window_start FROM accounting_ingestwindow i
        WHERE i.cluster_id = c.id AND i.shard = 0 AND i.rows > 0
        ORDER BY i.window_start DESC LIMIT 1
    ) newest
    CROSS JOIN LATERAL (  -- OFFSET 0 keeps it a look-up of one window
        SELECT u.gpu_id, u.pod_id, u.window_start, u.flags FROM usage_window u
        WHERE u.cluster_id = c.id AND u.window_start = newest.window_start
        OFFSET 0
    ) w
    JOIN accounting_gpu g ON g.id = w.gpu_id
    JOIN accounting_pod p ON p.id = w.pod_id
    JOIN accounting_namespace n ON n.id = p.namespace_id
    LEFT JOIN accounting_podattribution a ON a.pod_id = p.id
        AND a.valid_from <= w.window_start AND w.window_start < a.valid_to
    LEFT JOIN accounting_team t ON t.id = a.team_id
    WHERE (%(uuid)s::text IS NULL OR g.uuid = %(uuid)s)
      AND (%(scope)s::bigint[] IS NULL OR a.team_id = ANY(%(scope)s))
    ORDER BY g.uuid, p.name
"""


def gpu_rows(selection: Selection, *, uuid: str | None = None) -> list[GpuRow]:
    """Every GPU that was there in the period, by node and UUID; or one of them.

    Raises:
        HiddenError: the scope does not see everything.
    """
    if not selection.scope.sees_all:
        raise HiddenError("GPUs of all teams are for finance and admins")
    period = selection.period or stored_period() or Period(0, 1)
    parameters = {
        "uuid": uuid,
        "clusters": list(selection.filters.get("cluster", ())) or None,
        "models": list(selection.filters.get("model", ())) or None,
        "start": period.start_ms,
        "end": period.end_ms,
        "scope": None,
    }
    with connection.cursor() as cursor:
        cursor.execute(_GPUS, parameters)
        found = cursor.fetchall()
        cursor.execute(_HOLDERS, parameters)
        holders: dict[str, list[Holding]] = {}
        for gpu, *rest in cursor.fetchall():
            holders.setdefault(gpu, []).append(Holding(*_holding(rest)))
    ledger = _states(period, uuid)
    rows = [
        GpuRow(
            gpu,
            placeholder,
            cluster,
            node,
            model,
            present,
            first,
            tuple(holders.get(gpu, ())),
            ledger.get(gpu),
        )
        for gpu, placeholder, cluster, node, model, present, first in found
    ]
    return sorted(rows, key=lambda row: (row.cluster, row.node, row.uuid))


_STATES = f"""
    WITH summed AS (
        SELECT w.gpu_id, sum(w.samples_expected)::bigint AS samples_expected,
               sum(w.samples_used)::bigint AS samples_used,
               {", ".join(f"sum(w.{state}_ms)::bigint AS {state}_ms" for state in STATES)}
        FROM usage_window w
        WHERE w.window_start >= %(since)s AND w.window_start < %(until)s
          AND (%(uuid)s::text IS NULL OR w.cluster_id = ANY(ARRAY(
                  SELECT g.cluster_id FROM accounting_gpu g WHERE g.uuid = %(uuid)s))
              AND w.gpu_id = ANY(ARRAY(
                  SELECT g.id FROM accounting_gpu g WHERE g.uuid = %(uuid)s)))
        GROUP BY 1
    )
    SELECT g.uuid, s.samples_expected, s.samples_used,
           {", ".join(f"s.{state}_ms" for state in STATES)}
    FROM summed s JOIN accounting_gpu g ON g.id = s.gpu_id
"""  # column names of this project


def _states(period: Period, uuid: str | None) -> dict[str, LedgerRow]:
    """The states of GPUs in a period, without money: sums of their facts alone."""
    parameters = {"since": period.start, "until": period.end, "uuid": uuid}
    with connection.cursor() as cursor:
        cursor.execute(_STATES, parameters)
        return {
            uuid: LedgerRow(
                key={"gpu": uuid},
                milliseconds=dict(zip(STATES, found, strict=True)),
                charges=dict.fromkeys(STATES),
                currency="",
                samples_expected=expected,
                samples_used=used,
            )
            for uuid, expected, used, *found in cursor.fetchall()
        }


def _holding(rest: list[object]) -> tuple[str, str, str, bool]:
    pod, namespace, team, inferred = rest
    return str(pod), str(namespace), str(team), bool(inferred)


@dataclass(frozen=True, slots=True)
class Slice:
    """One window of one GPU, for its page: states in milliseconds, and who held it."""

    at: datetime
    pod: str
    milliseconds: dict[str, int]
    samples_used: int
    samples_expected: int
    metric: int
    flags: int


def gpu_slices(selection: Selection, uuid: str, limit: int = 2000) -> list[Slice]:
    """The newest windows of one GPU in the period, oldest first."""
    if not selection.scope.sees_all:
        raise HiddenError("GPUs of all teams are for finance and admins")
    period = selection.period or stored_period() or Period(0, 1)
    columns = ", ".join(f"w.{state}_ms" for state in STATES)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT w.window_start, coalesce(p.name, ''), {columns}, w.samples_used,
                   w.samples_expected, w.metric, w.flags
            FROM usage_window w
            JOIN accounting_gpu g ON g.id = w.gpu_id AND g.cluster_id = w.cluster_id
                AND g.uuid = %s
            LEFT JOIN accounting_pod p ON p.id = w.pod_id
            WHERE w.window_start >= %s AND w.window_start < %s
            ORDER BY w.window_start DESC, w.pod_id LIMIT %s
            """,  # column names of this project
            [uuid, period.start, period.end, limit],
        )
        rows = cursor.fetchall()
    return [
        Slice(row[0], row[1], dict(zip(STATES, row[2:9], strict=True)), *row[9:])
        for row in reversed(rows)
    ]
