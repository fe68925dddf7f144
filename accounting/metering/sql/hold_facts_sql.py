"""Which facts are of a hold, as SQL."""

OF_HOLD = """
    u.window_start > to_timestamp({hold}.bound_ms / 1000.0) - interval '5 minutes'
    AND u.window_start < coalesce(to_timestamp({hold}.ended_ms / 1000.0), 'infinity')
    AND u.pod_id = {hold}.pod_id AND (
        NOT EXISTS (
            SELECT FROM accounting_podhold o
            WHERE o.pod_id = {hold}.pod_id AND o.resource <> {hold}.resource)
        OR CASE WHEN u.instance < 0 THEN {hold}.resource NOT LIKE '%%/mig-%%'
           ELSE {hold}.resource LIKE '%%/mig-' || (
                SELECT replace(i.part ->> 1, '+', '.')
                FROM accounting_gpugeometry y, jsonb_array_elements(y.instances) AS i(part)
                WHERE y.gpu_id = u.gpu_id AND (i.part ->> 0)::int = u.instance
                ORDER BY to_timestamp(y.from_ms / 1000.0) <= u.window_start DESC,
                         abs(extract(epoch FROM u.window_start) * 1000 - y.from_ms)
                LIMIT 1)
           END)
"""
"""Whether the fact `u` is of a hold. Where a pod holds several resources at once, whole GPUs
are distinguished from MIG instances, and those by their profile."""
