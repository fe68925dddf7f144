"""Time whose price a new rate changes: at the old price and at the new one (money.md M21).

Rows have the columns of `usage_day` that `line_sql.dated` reads: the time at the old price is
negative, that at the new one positive. So their lines are what a booking would change.
"""

from accounting.core.ledger_line import STATES
from accounting.metering.sql.states_sql import sums
from accounting.prices.sql.charge_sql import GATHERED_COLUMNS, with_prices
from accounting.prices.sql.price_sql import (
    LINE_PRICE_WITHOUT,
    OWN_PRICE_WITHOUT,
    matches,
    specificity,
)

TABLE, BOOK = "price_change", "price_change_book"
NO_PRICE = -1  # an id that no row has; prices that are not saved have lower ones

_KEY = (
    *("cluster_id", "billing_on", "namespace_id", "team_id", "workload_id"),
    *("workload_type", "model", "lifecycle", "tier"),
)
_PRICE = ("price_id", "rate", "gpu_price_id", "gpu_rate")

TABLES = f"""
DROP TABLE IF EXISTS {TABLE}, {BOOK};
CREATE TEMPORARY TABLE {BOOK} ON COMMIT DROP AS
    SELECT id, profile, currency FROM accounting_unitprice WHERE kind = 'rate';
CREATE TEMPORARY TABLE {TABLE} ON COMMIT DROP AS
    SELECT {", ".join(_KEY + _PRICE)}, {", ".join(f"{name}_ms" for name in STATES)}
    FROM usage_day LIMIT 0
"""
"""Creates both tables: the price book, and no change."""

NEW_PRICE = f"INSERT INTO {BOOK} VALUES (%(id)s, %(profile)s, %(price_currency)s)"
"""Adds a price that is not saved. Parameters: id, profile, price_currency."""

DROP = f"DROP TABLE {TABLE}, {BOOK}"

_NEW = """
    SELECT %(model)s::text AS model, %(cluster_id)s::int AS cluster_id,
           %(profile)s::text AS profile, %(lifecycle)s::text AS lifecycle,
           %(tier)s::text AS tier, %(rate)s::numeric AS rate
"""


def _takes(old: str) -> str:
    return f"""%(applies)s AND {matches("n", "s")}
        AND ({old}.id IS NULL OR {specificity(old)} <= {specificity("n")})"""


def _now(name: str, takes: str, other: str) -> str:
    """What becomes of a price of a row: the new one, another one, or the same."""
    return f"""
        CASE WHEN {takes} THEN %(id)s WHEN s.{name}_id = %(replaced)s
             THEN coalesce({other}.id, 0) ELSE s.{name}_id END"""


_OF_LINE = _takes("p")
_OF_GPU = f"n.profile = '' AND n.tier = '' AND {_takes('o')}"


def _rate(takes: str, price: str, rate: str, other: str) -> str:
    return f"""
        CASE WHEN {takes} THEN n.rate WHEN s.{price}_id = %(replaced)s THEN {other}.rate
             ELSE s.{rate} END"""


def _changes(rows: str, profile: str) -> str:
    """An INSERT of what changes in rows with prices.

    Time that had the replaced price beyond the end of the new one gets the next best.

    Args:
        rows: a SELECT.
        profile: of such time.
    """
    states = ", ".join(f"sum(v.sign * {name}_ms)" for name in STATES)
    old = ", ".join(f"s.{name}" for name in _PRICE)
    return f"""
, n AS ({_NEW}), judged AS (
    SELECT s.*, {_now("price", _OF_LINE, "line")} AS new_price_id,
           {_rate(_OF_LINE, "price", "rate", "line")} AS new_rate,
           {_now("gpu_price", _OF_GPU, "own")} AS new_gpu_price_id,
           {_rate(_OF_GPU, "gpu_price", "gpu_rate", "own")} AS new_gpu_rate
    FROM ({rows}) s CROSS JOIN n
    LEFT JOIN accounting_unitprice p ON p.id = s.price_id
    LEFT JOIN accounting_unitprice o ON o.id = s.gpu_price_id
    LEFT JOIN LATERAL (
        SELECT s.model, s.cluster_id, {profile} AS profile, s.lifecycle, s.tier, s.at,
               %(replaced)s::bigint AS without
        WHERE %(replaced)s IN (s.price_id, s.gpu_price_id)
    ) c ON true
    LEFT JOIN LATERAL ({LINE_PRICE_WITHOUT}) line ON true
    LEFT JOIN LATERAL ({OWN_PRICE_WITHOUT}) own ON true
)
INSERT INTO {TABLE}
SELECT {", ".join(_KEY)}, {", ".join(f"v.{name}" for name in _PRICE)}, {states}
FROM judged s CROSS JOIN LATERAL (VALUES
    (-1, {old}), (1, s.new_price_id, s.new_rate, s.new_gpu_price_id, s.new_gpu_rate)
) v(sign, {", ".join(_PRICE)})
WHERE (s.new_price_id, s.new_gpu_price_id) <> (s.price_id, s.gpu_price_id)
GROUP BY {", ".join(_KEY)}, {", ".join(f"v.{name}" for name in _PRICE)}
"""


CHANGES_OF_HOURS = f"""
WITH span AS (SELECT %(since)s::timestamptz AS since, %(until)s::timestamptz AS until)
{
    _changes(
        '''
    SELECT u.*, u.hour_start AS at, '' AS profile FROM usage_hour u CROSS JOIN span
    WHERE u.model = %(model)s AND u.hour_start >= span.since
      AND (span.until IS NULL OR u.hour_start < span.until)
      AND (%(cluster_id)s::int IS NULL OR u.cluster_id = %(cluster_id)s)''',
        "coalesce(p.profile, '')",
    )
}"""
"""Changes of whole hours in [since, until).

Hours do not distinguish profiles: time of a price by profile had this profile.

Parameters: id, model, cluster_id, profile, lifecycle, tier, rate (of the new price), applies (false
beyond its end), replaced (id of the price that it replaces, or NO_PRICE), since, until.
"""

_GATHERED = ", ".join(f"g.{name}" for name in GATHERED_COLUMNS)

CHANGES_OF_FACTS = with_prices() + _changes(
    f"""
    SELECT {_GATHERED}, coalesce(q.price_id, 0) AS price_id, q.rate,
           coalesce(q.gpu_price_id, 0) AS gpu_price_id, q.gpu_rate, {sums("g")}
    FROM gathered g JOIN priced q USING (cluster_id, at, model, lifecycle, tier, profile)
    WHERE g.model = %(model)s
    GROUP BY {_GATHERED}, q.price_id, q.rate, q.gpu_price_id, q.gpu_rate""",
    "s.profile",
)
"""The same of five-minute facts, with the parameters of `charge_sql.parameters`, too."""

GPUS = """
    SELECT g.id FROM accounting_gpu g
    WHERE g.model = %(model)s
      AND (%(cluster_id)s::int IS NULL OR g.cluster_id = %(cluster_id)s)
      AND (%(profile)s = '' OR EXISTS (
          SELECT FROM accounting_gpugeometry y
          CROSS JOIN LATERAL jsonb_array_elements(y.instances) AS i(part)
          WHERE y.gpu_id = g.id AND i.part ->> 1 = %(profile)s))
"""
"""The GPUs of a model, or those that had a profile."""
