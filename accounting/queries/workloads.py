"""Workloads of a selection, the largest idle ones first."""

from dataclasses import dataclass

from accounting.domain.report import UsageRow
from accounting.queries.selection import Selection
from accounting.queries.usage import usage_rows


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """One controller, or a lone pod, over a period."""

    team: str
    namespace: str
    name: str
    kind: str
    model: str
    usage: UsageRow


def workload_rows(
    selection: Selection, *, limit: int | None = None
) -> list[WorkloadRow]:
    """Workloads by model, the most idle time first."""
    rows = usage_rows(selection, ("team", "workload", "model"))
    ordered = sorted(rows, key=lambda row: (-row.idle_ms, tuple(row.key.values())))
    return [
        WorkloadRow(
            team=row.key["team"],
            namespace=row.key["namespace"],
            name=row.key["workload"],
            kind=row.key["workload_kind"],
            model=row.key["model"],
            usage=row,
        )
        for row in ordered[:limit]
    ]
