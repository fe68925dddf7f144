"""The family of the rows of other tables, which have workloads only (rules.md N41)."""


def with_family(rows: str) -> str:
    """Rows of a rollup or of facts, with `family`; empty for unallocated time."""
    return f"""SELECT r.*, coalesce(w.family, '') AS family FROM ({rows}) r
               LEFT JOIN accounting_workload w ON w.id = r.workload_id"""


def with_family_of_few(rows: str) -> str:
    """The same for few rows: each workload is looked up."""
    return f"""SELECT r.*, coalesce(w.family, '') AS family FROM ({rows}) r
               LEFT JOIN LATERAL (SELECT family FROM accounting_workload
                                  WHERE id = r.workload_id OFFSET 0) w ON true"""


def lines_with_family(table: str) -> str:
    """Booked lines, which name their workload, with its `family`; empty without a workload."""
    return f"""(SELECT b.*, coalesce(w.family, b.workload) AS family FROM {table} b
        LEFT JOIN accounting_cluster c ON c.name = b.cluster
        LEFT JOIN accounting_namespace n ON n.cluster_id = c.id AND n.name = b.namespace
        LEFT JOIN LATERAL (SELECT family FROM accounting_workload WHERE cluster_id = c.id
            AND namespace_id = n.id AND kind = b.workload_kind AND name = b.workload OFFSET 0
        ) w ON true)"""
