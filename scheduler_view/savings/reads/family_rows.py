"""Rows of waste about work of one family, as one (scheduling.md "Waste")."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain

from scheduler_view.savings.reads.row import WasteRow


def family_rows(rows: Sequence[WasteRow]) -> list[WasteRow]:
    """One row for each rule, team and family of work; other rows stay, largest amount first."""
    found: dict[tuple[object, ...], list[WasteRow]] = {}
    for row in rows:
        of_team = row.rule, row.cluster, row.team, row.currency
        work = row.namespace, row.kind, row.family, row.node, row.pool
        found.setdefault((*of_team, *work), []).append(row)
    made = [same[0] if len(same) == 1 else _together(same) for same in found.values()]
    return sorted(made, key=lambda row: (-row.raw, -row.gpu_ms))


def _together(rows: Sequence[WasteRow]) -> WasteRow:
    first = rows[0]
    return replace(
        first,
        workload=first.family,
        findings=sum(row.findings for row in rows),
        pods=sum(row.pods for row in rows),
        start=min(row.start for row in rows),
        end=max(row.end for row in rows),
        gpu_ms=sum(row.gpu_ms for row in rows),
        unpriced_ms=sum(row.unpriced_ms for row in rows),
        raw=sum((row.raw for row in rows), Decimal(0)),
        raw_low=sum((row.raw_low for row in rows), Decimal(0)),
        more=tuple(chain.from_iterable(row.keys[bool(row is first) :] for row in rows)),
    )
