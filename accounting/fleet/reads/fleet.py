"""GPUs and nodes: what exists, which pods hold it now, and how it was used."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from django.db import connection

from accounting.core.interval import Interval
from accounting.core.ledger_line import HELD_STATES as HELD
from accounting.core.ledger_line import STATES
from accounting.core.money import Money
from accounting.fleet.reads.drivers import drivers
from accounting.fleet.reads.gpu_events import HARDWARE_ERRORS
from accounting.fleet.reads.holders import GpuHolder, holders_now
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.selection import Selection, refuse_others, stored_period
from accounting.kit.rows import GpuHours, MsInstant, TextOrNull, derived, listed, member
from accounting.metering.models.ledger import DataIssue
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.relation.by_gpu import rows_by_gpu
from accounting.usage.reads.relation.stored_columns import STATES as STORED_STATES
from accounting.usage.rules.rows import LedgerRow


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU over a period.

    Attributes:
        driver: of its node, as last reported in the period; "" if no label has it.
        is_present: present in the cluster's newest window.
        holders: the pods that hold it in that window, for any period.
        errors: reported in the period: `XID 79`, `ECC`, `Row remap`.
        ledger: its seven states, with money in `PricedGpu` only; None if it was not present in the
            period.
    """

    uuid: str
    is_placeholder: bool
    cluster: str
    node: str
    model: str
    driver: str
    is_present: bool
    first_seen_ms: int
    holders: tuple[GpuHolder, ...]
    errors: tuple[str, ...]
    ledger: LedgerRow | None

    @property
    def busy_share(self) -> float | None:
        """busy / (busy + idle) of the period; None if nothing was observed."""
        return self.ledger.held.efficiency if self.ledger else None

    @property
    def allocated_share(self) -> float | None:
        """allocated / wall of the period; None if it was not present."""
        wall_ms = self.ledger.wall_ms if self.ledger else 0
        if self.ledger is None or not wall_ms:
            return None
        return self.ledger.held.allocated_ms / wall_ms


_GPUS = """
    SELECT DISTINCT ON (g.id) g.uuid, g.is_placeholder, c.name, n.name, g.model,
           p.end_ms IS NULL, min(p.start_ms) OVER (PARTITION BY g.id)
    FROM accounting_gpu g
    JOIN accounting_cluster c ON c.id = g.cluster_id
    JOIN accounting_gpupresence p ON p.gpu_id = g.id
    JOIN accounting_node n ON n.id = p.node_id
    WHERE (%(uuids)s::text[] IS NULL OR g.uuid = ANY(%(uuids)s))
      AND (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))
      AND (%(nodes)s::text[] IS NULL OR n.name = ANY(%(nodes)s))
      AND (%(models)s::text[] IS NULL OR g.model = ANY(%(models)s))
      AND p.start_ms < %(end)s AND (p.end_ms IS NULL OR p.end_ms > %(start)s)
    ORDER BY g.id, p.start_ms DESC
"""

GPU_FILTERS = ("cluster", "model", "node", "gpu")


def gpu_rows(selection: Selection) -> list[GpuRow]:
    """Every GPU that was present in the period, by node and UUID.

    Without a period, it is the time for which five-minute facts are kept.

    Raises:
        HiddenError: the scope does not cover all teams.
        SelectionError: a filter other than GPU_FILTERS.
    """
    _check(selection)
    period = selection.period or stored_period() or Interval(0, 1)
    return _rows(selection, period, _states(selection, period))


def _check(selection: Selection) -> None:
    if not selection.scope.sees_all:
        raise HiddenError("only finance and administrators can see GPUs of all teams")
    refuse_others(selection, GPU_FILTERS, "GPUs")


def _rows(
    selection: Selection, period: Interval, ledger: Mapping[str, LedgerRow]
) -> list[GpuRow]:
    names = {"cluster": "clusters", "model": "models", "node": "nodes", "gpu": "uuids"}
    filters = {
        key: list(selection.filters.get(name, ())) or None
        for name, key in names.items()
    }
    parameters = {**filters, "start": period.start_ms, "end": period.end_ms}
    with connection.cursor() as cursor:
        cursor.execute(_GPUS, parameters)
        found = cursor.fetchall()
    holders = holders_now(selection.scope, filters["uuids"])
    named, shown = drivers(period.end), gpu_errors(period)
    rows = [
        GpuRow(
            uuid=gpu,
            is_placeholder=placeholder,
            cluster=cluster,
            node=node,
            model=model,
            driver=named.get((cluster, node), ""),
            is_present=present,
            first_seen_ms=first,
            holders=holders.get((cluster, gpu), ()),
            errors=shown.get((cluster, gpu), ()),
            ledger=ledger.get(gpu),
        )
        for gpu, placeholder, cluster, node, model, present, first in found
    ]
    return sorted(rows, key=lambda row: (row.cluster, row.node, row.uuid))


def _states(selection: Selection, period: Interval) -> dict[str, LedgerRow]:
    """The states of GPUs in a period, without money."""
    chosen = replace(selection, period=period)
    rows, parameters = rows_by_gpu(chosen, STORED_STATES)
    query = f"""
        SELECT g.uuid, s.* FROM (
            SELECT u.gpu_id, sum(u.samples_expected)::bigint, sum(u.samples_used)::bigint,
                   {", ".join(f"sum(u.{state}_ms)::bigint" for state in STATES)}
            FROM ({rows}) u GROUP BY u.gpu_id
        ) s JOIN accounting_gpu g ON g.id = s.gpu_id
    """  # column names of this project
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return {
            uuid: LedgerRow(
                key={"gpu": uuid},
                milliseconds=dict(zip(STATES, found, strict=True)),
                charges=dict.fromkeys(STATES),
                samples_expected=expected,
                samples_used=used,
            )
            for uuid, _, expected, used, *found in cursor.fetchall()
        }


def gpu_errors(period: Interval) -> dict[tuple[str, str], tuple[str, ...]]:
    """The hardware errors by (cluster, GPU) that samples of a period showed.

    From the data issues: an XID is one error for as long as its code stays the same (trap T4).
    """
    rows = DataIssue.objects.filter(
        code__in=HARDWARE_ERRORS, first_seen__lt=period.end, last_seen__gte=period.start
    ).order_by("code", "subject")
    found: dict[tuple[str, str], list[str]] = {}
    for code, subject, cluster in rows.values_list("code", "subject", "cluster__name"):
        uuid, _, rest = subject.partition(" ")
        found.setdefault((cluster, uuid), []).append(rest or HARDWARE_ERRORS[code])
    return {key: tuple(errors) for key, errors in found.items()}


@dataclass(frozen=True, slots=True)
class GpuMoney:
    """What a GPU earned against what its time is worth; None where no time has a price.

    Attributes:
        earned: charged to those who held it (busy, idle and unknown).
        capacity: the price of all of the time that it was there.
        unpriced_ms: the part of that time that has no price.
        currencies: of the money, if several: it has no sum then.
    """

    earned: Money | None
    capacity: Money | None
    unpriced_ms: int = 0
    currencies: tuple[str, ...] = ()

    @property
    def currency(self) -> str:
        """Of its money; "" if it has none."""
        one = self.capacity or self.earned
        return one.currency if one is not None else ""


@listed("GpuRow")
class PricedGpu:
    """One row of `gpus`: its current location and holder, and its use and charges in the period."""

    cluster = derived(str, "row.cluster")
    node = derived(str, "row.node")
    gpu = derived(str, "row.uuid")
    model = derived(str, "row.model")
    driver = derived(TextOrNull, "row.driver")
    is_present = derived(bool, "row.is_present")
    first_seen = derived(MsInstant, "row.first_seen_ms")

    @member("current holders: `namespace/pod`")
    def holders(self) -> list[str]:
        """The pods that hold it now."""
        return [f"{one.namespace}/{one.pod}" for one in self.row.holders]

    @member("teams of these holders")
    def teams(self) -> list[str]:
        """Distinct, sorted."""
        return sorted({one.team for one in self.row.holders})

    errors = derived(
        tuple[str, ...], "row.errors", "errors reported in the period: `XID 79`, `ECC`"
    )
    wall_ms = derived(int | None, "row.ledger.wall_ms")
    allocated_ms = derived(int | None, "row.ledger.held.allocated_ms")
    busy_ms = derived(int | None, "row.ledger.milliseconds.busy")
    idle_ms = derived(int | None, "row.ledger.milliseconds.idle")
    unknown_ms = derived(int | None, "row.ledger.milliseconds.unknown")
    allocated_share = derived(float | None, "row.allocated_share")
    efficiency = derived(float | None, "row.busy_share")
    charge = derived(Decimal | None, "money.earned", "charged to its holders")
    capacity_cost = derived(
        Decimal | None, "money.capacity", "full price of the GPU's time"
    )
    currency = derived(TextOrNull, "money.currency")
    unpriced_gpu_hours = derived(
        GpuHours | None,
        "money.unpriced_ms",
        "time without a price, not included in any amount",
    )
    row: GpuRow
    money: GpuMoney | None


def priced_gpus(selection: Selection) -> list[PricedGpu]:
    """The rows of `gpu_rows` with their money, for the same time.

    Raises:
        HiddenError, SelectionError: as `gpu_rows` and `gpu_money`.
    """
    _check(selection)
    period = selection.period or stored_period() or Interval(0, 1)
    chosen = replace(selection, period=period)
    ledger = {row.key["gpu"]: row for row in ledger_rows(chosen, ("gpu",))}
    return [
        PricedGpu(row=row, money=money_of(row.ledger) if row.ledger else None)
        for row in _rows(chosen, period, ledger)
    ]


def gpu_money(selection: Selection, uuids: Collection[str]) -> dict[str, GpuMoney]:
    """The money of some GPUs in a period.

    Priced facts cost far more than plain sums (8,192 GPUs for a day: 11 s against 0.7 s, for
    fifty of them 0.1 s), so use it only for GPUs that are shown.

    Raises:
        HiddenError: the scope does not see everything.
        SelectionError: the facts of the period have expired (rules.md N32).
    """
    if not uuids:
        return {}
    chosen = replace(
        selection, filters={**selection.filters, "gpu": tuple(sorted(uuids))}
    )
    return {row.key["gpu"]: money_of(row) for row in ledger_rows(chosen, ("gpu",))}


def money_of(row: LedgerRow) -> GpuMoney:
    """Earned and capacity of a row of the ledger."""
    return GpuMoney(
        row.charge_of(HELD), row.wall_charge, row.unpriced_ms, row.currencies
    )
