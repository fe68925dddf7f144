"""Five-minute facts with the team that held them and the price of each window (rules.md N24, N26).

Rollups sum windows before they price them; these keep each window. Parameters: as of
`charge_sql.parameters`, for one cluster.
"""

from accounting.prices.sql.charge_sql import ON_INSTANCE, PROFILE, with_prices

_RATED = f"""{with_prices(("gpu_id", "node_id", "pod_id"))}
, rated AS MATERIALIZED (
    SELECT DISTINCT g.pod_id, g.gpu_id, g.node_id, g.at, g.profile, g.team_id, g.model,
           p.rate, p.gpu_rate, coalesce(p.currency, '') AS currency,
           p.gpu_cost, coalesce(p.cost_currency, '') AS cost_currency
    FROM gathered g
    JOIN priced p USING (cluster_id, at, model, lifecycle, tier, profile)
), timed AS (
    SELECT u.pod_id, u.window_start, u.gpu_id, u.instance, u.node_id, u.busy_ms, u.idle_ms,
           u.unknown_ms, u.free_ms, r.team_id, r.model, r.rate, r.gpu_rate, r.currency,
           r.gpu_cost, r.cost_currency
    FROM usage_window u {ON_INSTANCE}
    JOIN rated r ON r.pod_id = u.pod_id AND r.gpu_id = u.gpu_id AND r.node_id = u.node_id
        AND r.profile = {PROFILE}
        AND r.at = (%(cuts)s::timestamptz[])[
            width_bucket(u.window_start, %(cuts)s::timestamptz[])]
    WHERE u.cluster_id = %(cluster)s
      AND u.window_start >= %(start)s AND u.window_start < %(end)s
)"""

HELD_WINDOWS = f"""{_RATED}
SELECT pod_id, (extract(epoch FROM window_start) * 1000)::bigint, gpu_id, instance,
       busy_ms, idle_ms, unknown_ms, team_id, rate,
       CASE WHEN rate IS NULL THEN '' ELSE currency END
FROM timed WHERE pod_id <> 0
ORDER BY pod_id, window_start, gpu_id, instance
"""
"""A SELECT of held windows, by pod and time. One row is one GPU or instance of a pod."""

FREE_WINDOWS = f"""{_RATED}
, of_gpu AS (
    SELECT node_id, window_start, gpu_id, model, gpu_rate, currency,
           sum(free_ms) AS free_ms
    FROM timed WHERE pod_id = 0
    GROUP BY node_id, window_start, gpu_id, model, gpu_rate, currency
    HAVING sum(free_ms) > 0
), of_node AS (
    SELECT node_id, window_start, model, gpu_rate, currency,
           array_agg(free_ms ORDER BY free_ms DESC) AS free_ms
    FROM of_gpu GROUP BY node_id, window_start, model, gpu_rate, currency
)
SELECT node_id, model, free_ms, count(*)::int, gpu_rate,
       CASE WHEN gpu_rate IS NULL THEN '' ELSE currency END
FROM of_node
GROUP BY node_id, model, free_ms, gpu_rate, currency
ORDER BY node_id, model, free_ms DESC, gpu_rate, currency
"""
"""A SELECT of the free parts of a node's GPUs, largest first, with how many windows had them."""

FREE_WINDOWS_OF_NODES = f"""{_RATED}
, of_gpu AS (
    SELECT node_id, window_start, gpu_id, model, gpu_rate, currency, gpu_cost, cost_currency,
           sum(free_ms) AS free_ms
    FROM timed WHERE pod_id = 0 AND node_id = ANY(%(nodes)s)
    GROUP BY node_id, window_start, gpu_id, model, gpu_rate, currency, gpu_cost,
             cost_currency
    HAVING sum(free_ms) > 0
)
SELECT node_id, (extract(epoch FROM window_start) * 1000)::bigint, model,
       array_agg(free_ms ORDER BY free_ms DESC), gpu_rate,
       CASE WHEN gpu_rate IS NULL THEN '' ELSE currency END, gpu_cost,
       CASE WHEN gpu_cost IS NULL THEN '' ELSE cost_currency END
FROM of_gpu
GROUP BY node_id, window_start, model, gpu_rate, currency, gpu_cost, cost_currency
ORDER BY node_id, window_start, model
"""  # composed of constants
"""A SELECT of the free parts of the GPUs of some nodes, window by window."""
