"""The family of the rows of other tables, which have workloads only (rules.md N41)."""


def with_family(rows: str) -> str:
    """Rows of a rollup or of facts, with `family`; empty for unallocated time."""
    return f"""SELECT r.*, coalesce(w.family, '') AS family FROM ({rows}) r
               LEFT JOIN accounting_workload w ON w.id = r.workload_id"""


def lines_with_family(table: str) -> str:
    """Booked lines, which name their workload, with its `family`; empty without a workload."""
    return f"""(SELECT b.*, coalesce(f.family, b.workload) AS family
        FROM {table} b LEFT JOIN (
            SELECT w.family, w.kind, w.name, n.name AS namespace, c.name AS cluster
            FROM accounting_workload w
            JOIN accounting_namespace n ON n.id = w.namespace_id
            JOIN accounting_cluster c ON c.id = w.cluster_id
        ) f ON f.cluster = b.cluster AND f.namespace = b.namespace
            AND f.kind = b.workload_kind AND f.name = b.workload)"""
