"""SQL that rollups and reports share: time x price, and facts joined with what prices them.

Money is milliseconds x rate, exact and in currency-milliseconds ("raw"), wherever it is asked
for; `accounting/prices/rules/charge.py` rounds it. Rows of facts and rollups that are priced
have `rate` and `gpu_rate`, NULL where no price matches.

Team, tier, lifecycle and price are those valid when a window started (rules.md N24, N26). They
change rarely: time is cut where any of them changes (and at midnight), and facts are summed
between the cuts before they are joined.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.core.read_once import read_once
from accounting.metering.rules.intensity.measures import MEASURES, PEAKS
from accounting.metering.sql.states_sql import STATE_COLUMNS, held, sums
from accounting.prices.sql.price_sql import PRICES

KEY_COLUMNS = (
    "billing_on",
    "namespace_id",
    "team_id",
    "workload_id",
    "workload_type",
    "model",
    "lifecycle",
    "tier",
    "price_id",
    "gpu_price_id",
)
RATE_COLUMNS = ("rate", "cost", "gpu_rate", "gpu_cost", "currency")
SUMMED_COLUMNS = (*STATE_COLUMNS, "estimated_ms", "samples_expected", "samples_used")
CHARGE_COLUMNS = (*KEY_COLUMNS, *RATE_COLUMNS, *SUMMED_COLUMNS)
GPU_COLUMNS = ("gpu_id", "node_id")  # in addition, in rollups by GPU
HARD_KEY_COLUMNS = KEY_COLUMNS[:-2]  # GPU activity has no price

HAS_RATE = "u.rate IS NOT NULL"
HAS_RATES = f"{HAS_RATE} AND u.gpu_rate IS NOT NULL"
"""What a team pays is known by its own price; what the GPU's time is worth is not (N27)."""


# Time without a price has no currency. Amounts of two currencies have no sum (decision 17).
CURRENCY = """coalesce(max(u.currency), '') AS currency,
       coalesce(max(u.currency) = min(nullif(u.currency, '')), true) AS is_one_currency"""


def raw(milliseconds: str, rate: str = "u.rate") -> str:
    """Time at a rate; NULL without one."""
    return f"{milliseconds} * {rate}"


def difference(milliseconds: str, rate: str = "u.rate", own: str = "u.gpu_rate") -> str:
    """What time at another rate comes to more: the platform's line takes it (N27)."""
    return raw(milliseconds, f"({own} - {rate})")


def raw_sum(milliseconds: str, priced: str = HAS_RATE) -> str:
    """The money of the time of rows `u` that has a price; 0 where none has."""
    return f"coalesce(sum({raw(milliseconds)}) FILTER (WHERE {priced}), 0)"


def unpriced_sum(milliseconds: str, priced: str = HAS_RATE) -> str:
    """The time of rows `u` that has no price: no amount includes it (N26)."""
    return f"coalesce(sum({milliseconds}) FILTER (WHERE NOT ({priced})), 0)::bigint"


_IN_TIME = (
    "window_start >= %(start)s AND window_start < %(end)s AND (%(gap)s::timestamptz IS NULL "
    "OR window_start < %(gap)s OR window_start >= %(gap_end)s)"
)
_CUTS = """
    SELECT at FROM (
        SELECT valid_from AS at FROM accounting_unitprice
        UNION SELECT valid_to FROM accounting_unitprice
        UNION SELECT valid_from FROM accounting_nodefact
        UNION SELECT valid_from FROM accounting_podattribution
    ) changes WHERE at > %(start)s AND at < %(end)s
"""


def parameters(
    cluster_id: int | None,
    start: datetime,
    end: datetime,
    gpu_ids: Sequence[int] | None = None,
    priced_model: str | None = None,
    gap: tuple[datetime, datetime] | None = None,
) -> dict[str, Any]:
    """The parameters of `priced_facts` for [start, end), or for some GPUs there; one query.

    Windows between two cuts share every price, team, tier, lifecycle and billing day. Profiles are
    distinguished for models with a price by profile, and for `priced_model`. Windows in the gap
    are left out: hours have them.
    """
    cuts = set(_cuts(start, end))
    with billing_remembered():
        day = billing_day(start) + timedelta(days=1)
        while (at := midnight(day)) < end:
            cuts.add(at)
            day += timedelta(days=1)
        if gap is not None:
            cuts = {at for at in cuts if not gap[0] <= at < gap[1]} | {gap[1]}
        edges = [start, *sorted(cuts)]
        days = [billing_day(at) for at in edges]
    return {
        "cluster": cluster_id,
        "start": start,
        "end": end,
        "gpus": None if gpu_ids is None else list(gpu_ids),
        "cuts": edges,
        "days": days,
        "priced_model": priced_model,
        "gap": gap[0] if gap else None,
        "gap_end": gap[1] if gap else None,
    }


@read_once
def _cuts(start: datetime, end: datetime) -> frozenset[datetime]:
    with connection.cursor() as cursor:
        cursor.execute(_CUTS, {"start": start, "end": end})
        return frozenset(row[0] for row in cursor.fetchall())


# Instances of the models that have a price by profile, each with the profile it had at an
# instant; before its first geometry and while it was absent, that of the next one (N24).
# Unallocated time keeps the GPU's own price: otherwise the platform's line would take the
# difference back (N27).
_DIVIDED = """, geometry AS (
    SELECT y.gpu_id, y.instances, to_timestamp(y.from_ms / 1000.0) AS since,
           to_timestamp(lead(y.from_ms) OVER w / 1000.0) AS until
    FROM accounting_gpugeometry y JOIN accounting_gpu g ON g.id = y.gpu_id
    WHERE (g.model IN (SELECT model FROM accounting_unitprice WHERE profile <> '')
           OR g.model = %(priced_model)s)
      AND (%(cluster)s::int IS NULL OR g.cluster_id = %(cluster)s)
      AND (%(gpus)s::int[] IS NULL OR g.id = ANY(%(gpus)s))
    WINDOW w AS (PARTITION BY y.gpu_id ORDER BY y.from_ms)
), divided AS MATERIALIZED (
    SELECT y.gpu_id, (i.part ->> 0)::int AS instance, i.part ->> 1 AS profile,
           coalesce(lag(y.until) OVER w, '-infinity') AS since,
           coalesce(y.until, 'infinity') AS until
    FROM geometry y, jsonb_array_elements(y.instances) AS i(part)
    WINDOW w AS (PARTITION BY y.gpu_id, i.part ->> 0 ORDER BY y.since)
)"""
ON_INSTANCE = """LEFT JOIN divided d ON d.gpu_id = u.gpu_id AND d.instance = u.instance
        AND u.pod_id <> 0 AND d.since <= u.window_start AND u.window_start < d.until"""
# If the number was given to another instance within the window, its pods may have held either:
# the one that the hold names, else the later one for a pod that was bound since.
PROFILE = """CASE WHEN d.until < u.window_start + interval '5 minutes' THEN (
        SELECT e.profile FROM divided e
        LEFT JOIN accounting_podhold h ON h.pod_id = u.pod_id
        WHERE e.gpu_id = u.gpu_id AND e.instance = u.instance
          AND e.since < u.window_start + interval '5 minutes' AND e.until > u.window_start
        ORDER BY (h.resource LIKE '%%/mig-' || replace(e.profile, '+', '.') || '%%') IS NOT TRUE,
                 (e.since > u.window_start)
                     <> coalesce(to_timestamp(h.bound_ms / 1000.0) > u.window_start, false),
                 e.since LIMIT 1)
    ELSE coalesce(d.profile, '') END"""

# Of one hour, GPU and pod: an integer. Sums of integers need no numeric arithmetic.
_STATE_PARTS = (
    *((name, f"sum({name})::int") for name in STATE_COLUMNS),
    (
        "estimated_ms",
        f"sum(CASE WHEN flags & 3 <> 0 THEN {held()} ELSE 0 END)::int",
    ),
    ("samples_expected", "sum(samples_expected)::int"),
    ("samples_used", "sum(samples_used)::int"),
)
INTENSITY_COLUMNS = ("flags", *MEASURES)


def over(column: str, name: str = "") -> str:
    """How rows of GPU activity are summed; `name` if the column has a prefix."""
    if column.endswith("flags"):
        return f"bit_or({column})"
    return f"max({column})" if (name or column) in PEAKS else f"sum({column})::bigint"


_KEPT = {  # the columns of `gathered`, in addition to finer ones and sums
    "cluster_id": "s.cluster_id",
    "hour_start": "s.hour_start",
    "at": "s.at",
    "billing_on": "s.billing_on",
    "namespace_id": "coalesce(p.namespace_id, 0)",
    "team_id": "coalesce(a.team_id, 0)",
    "workload_id": "coalesce(p.workload_id, 0)",
    "workload_type": "coalesce(a.workload_type, '')",
    "model": "g.model",
    "lifecycle": "coalesce(l.lifecycle, 'unknown')",
    "tier": "coalesce(a.tier, '')",
    "profile": "s.part_profile",
}
GATHERED_COLUMNS = tuple(_KEPT)
_LINE_COLUMNS = ("cluster_id", "hour_start", *KEY_COLUMNS[:8])
_LINE = ", ".join(f"g.{name}" for name in _LINE_COLUMNS)


# Held instances. Most GPUs have none: joining their facts with profiles took a tenth of a rollup.
# Without any profile, facts are not read twice.
_DIVIDES = "u.instance >= 0 AND u.pod_id <> 0 AND EXISTS (SELECT FROM divided)"
_STARTS = "%(cuts)s::timestamptz[]"
_CUT = (
    f"CASE WHEN cardinality({_STARTS}) = 1 THEN 1 "
    f"ELSE width_bucket(window_start, {_STARTS}) END"
)


def _summed(
    table: str, parts: Sequence[tuple[str, str]], where: str, profile: str
) -> str:
    """A SELECT of facts `u` summed between cuts, with `profile` as `part_profile`.

    The instant and the day of a cut are looked up: a join with cuts has no estimate, and GPUs, pods
    and teams were then found one by one.
    """
    sums_ = ", ".join(f"{text} AS {name}" for name, text in parts)
    return f"""
    SELECT cluster_id, date_bin('1 hour', window_start, 'epoch') AS hour_start,
           {_CUT} AS cut, ({_STARTS})[{_CUT}] AS at,
           (%(days)s::date[])[{_CUT}] AS billing_on,
           u.gpu_id, node_id, pod_id, {profile} AS part_profile, {sums_}
    FROM {table} u {where} AND (%(cluster)s::int IS NULL OR cluster_id = %(cluster)s)
      AND (%(gpus)s::int[] IS NULL OR u.gpu_id = ANY(%(gpus)s)) AND {_IN_TIME}
    GROUP BY cluster_id, hour_start, cut, u.gpu_id, node_id, pod_id, part_profile"""


_JOINED = """LEFT JOIN accounting_pod p ON p.id = s.pod_id
    LEFT JOIN accounting_podattribution a
        ON a.pod_id = s.pod_id AND a.valid_from <= s.at AND s.at < a.valid_to"""
_LOOKED_UP = """LEFT JOIN LATERAL (SELECT namespace_id, workload_id FROM accounting_pod
        WHERE id = s.pod_id OFFSET 0) p ON true
    LEFT JOIN LATERAL (SELECT team_id, workload_type, tier FROM accounting_podattribution
        WHERE pod_id = s.pod_id AND valid_from <= s.at AND s.at < valid_to OFFSET 0) a ON true"""


def _gathered(
    table: str,
    parts: Sequence[tuple[str, str]],
    finer: tuple[str, ...],
    *,
    by_profile: bool = False,
    is_page: bool = False,
) -> str:
    """Common table expressions: facts summed between cuts, with the values valid there.

    Args:
        table: of facts by (window, GPU, pod, node).
        parts: the sum over windows, by column.
        finer: further columns: gpu_id, node_id, pod_id.
        by_profile: also with `profile` if a price needs it.
        is_page: few facts: their pods are looked up, where a rollup reads all pods at once.
    """
    pods = _LOOKED_UP if is_page else _JOINED
    kept = _KEPT | {name: f"s.{name}" for name in finer}
    summed = _summed(table, parts, "WHERE true", "''")
    if by_profile:
        of_instances = _summed(table, parts, f"{ON_INSTANCE} WHERE {_DIVIDES}", PROFILE)
        summed = _summed(table, parts, f"WHERE NOT ({_DIVIDES})", "''")
        summed = f"{summed} UNION ALL {of_instances}"
    return f"""
WITH node_life AS (
    SELECT f.node_id, f.lifecycle,
           CASE WHEN row_number() OVER w = 1 THEN '-infinity' ELSE f.valid_from END AS since,
           coalesce(lead(f.valid_from) OVER w, 'infinity') AS until
    FROM accounting_nodefact f
    WINDOW w AS (PARTITION BY f.node_id ORDER BY f.valid_from)
){_DIVIDED if by_profile else ""}, summed AS ({summed}
), gathered AS MATERIALIZED (
    SELECT {", ".join(f"{text} AS {name}" for name, text in kept.items())},
           {", ".join(f"s.{name}" for name, _ in parts)}
    FROM summed s
    JOIN accounting_gpu g ON g.id = s.gpu_id
    LEFT JOIN node_life l ON l.node_id = s.node_id AND l.since <= s.at AND s.at < l.until
    {pods}
)"""


def with_prices(finer: tuple[str, ...] = (), *, is_page: bool = False) -> str:
    """Common table expressions: facts (`gathered`) and their prices (`priced`).

    Args:
        finer, is_page: as for `priced_facts`.
    """
    gathered = _gathered(
        "usage_window", _STATE_PARTS, finer, by_profile=True, is_page=is_page
    )
    return f"""{gathered}, priced AS MATERIALIZED (
    SELECT c.*, (line).id AS price_id, (line).rate_per_gpu_hour AS rate,
           (own).id AS gpu_price_id, (own).rate_per_gpu_hour AS gpu_rate,
           (paid).rate_per_gpu_hour AS cost, (paid).rate_per_gpu_hour AS gpu_cost,
           (line).currency, (paid).currency AS cost_currency
    FROM (SELECT DISTINCT cluster_id, at, model, lifecycle, tier, profile FROM gathered) c
    CROSS JOIN LATERAL ({PRICES}) prices
)"""


def priced_facts(finer: tuple[str, ...] = (), *, is_page: bool = False) -> str:
    """A SELECT of facts summed by the rollup's key, with rates.

    Args:
        finer: further columns of `usage_window` to group by: gpu_id, node_id, pod_id.
        is_page: facts of some GPUs or of a short time: their pods are looked up one by one.
    """
    outer = "".join(f", g.{name}" for name in finer)
    rates = ", ".join(f"max(p.{name}) AS {name}" for name in RATE_COLUMNS[:4])
    rest = SUMMED_COLUMNS[len(STATE_COLUMNS) :]
    summed = ", ".join(f"sum(g.{name})::bigint AS {name}" for name in rest)
    return f"""{with_prices(finer, is_page=is_page)}
SELECT {_LINE}, coalesce(p.price_id, 0) AS price_id,
       coalesce(p.gpu_price_id, 0) AS gpu_price_id{outer},
       {sums("g")},
       {rates}, coalesce(max(p.currency), '') AS currency, {summed}
FROM gathered g JOIN priced p USING (cluster_id, at, model, lifecycle, tier, profile)
GROUP BY {_LINE}, coalesce(p.price_id, 0), coalesce(p.gpu_price_id, 0){outer}
"""


def hard_facts(finer: tuple[str, ...] = (), *, is_page: bool = False) -> str:
    """A SELECT of GPU activity summed by its rollup's key, without prices.

    Args:
        finer, is_page: as for `priced_facts`.
    """
    outer = "".join(f", g.{name}" for name in finer)
    parts = [(name, over(name)) for name in INTENSITY_COLUMNS]
    again = [f"{over(name)} AS {name}" for name in INTENSITY_COLUMNS]
    return f"""{_gathered("intensity_window", parts, finer, is_page=is_page)}
SELECT {_LINE}{outer}, {", ".join(again)}
FROM gathered g
GROUP BY {_LINE}{outer}
"""


def unpriced_facts(finer: tuple[str, ...] = ()) -> str:
    """A SELECT of the states of facts as they are, without teams, prices and sums.

    Args:
        finer: further columns of `usage_window`.
    """
    columns = ("cluster_id", *finer, *STATE_COLUMNS, "samples_expected", "samples_used")
    return f"""
SELECT {", ".join(columns)} FROM usage_window
WHERE (%(cluster)s::int IS NULL OR cluster_id = %(cluster)s)
  AND (%(gpus)s::int[] IS NULL OR gpu_id = ANY(%(gpus)s))
  AND {_IN_TIME}
"""
