"""What can be exported: the columns of each file, and the SQL of their cells.

The database writes the cells as text, so that a file of any length needs no memory here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from accounting.core.charge_lines import FIELDS
from accounting.exports.rules.column_types import CellType, FileColumn, decimal_column
from accounting.exports.rules.focus.columns import PROFILES, FocusProfile
from accounting.exports.sql.focus_cells import CELLS as FOCUS_CELLS
from accounting.exports.sql.focus_cells import DERIVED as FOCUS_COLUMNS
from accounting.metering.sql.states_sql import held


class What(StrEnum):
    """Which rows a file has."""

    FOCUS = "focus"  # a row for each line with a charge, as FOCUS describes it
    CHARGES = "charges"  # the lines, as the hash of the close reads them
    STATEMENTS = "statements"  # what each team pays
    JOURNAL = (
        "journal"  # debits and credits for an ERP system, by the map of the setup file
    )


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Columns of a file and the SQL of their cells, over a line `l` or a statement `s`.

    Attributes:
        derived: columns that are computed once for several uses, added to each line in steps.
        has_charge: only lines with a charge are rows.
        safe: text columns whose cells are never a formula: their first character is fixed.
    """

    what: What
    columns: tuple[FileColumn, ...]
    cells: Mapping[str, str]
    derived: Sequence[Mapping[str, str]] = ()
    has_charge: bool = False
    safe: frozenset[str] = frozenset()
    profile: FocusProfile | None = None


_TYPES = {
    "billing_on": FileColumn("billing_on", CellType.DATE),
    "ms": FileColumn("ms", CellType.INTEGER),
    "rate": decimal_column("rate", 16),
    "fx": decimal_column("fx", 16),
    "raw": decimal_column("raw", 16),
    "charge": decimal_column("charge", 14),
}
CHARGES = ExportTable(
    What.CHARGES,
    (
        FileColumn("line_id"),
        *(_TYPES.get(name, FileColumn(name)) for name in FIELDS),
    ),
    {
        "line_id": "l.line_id",
        **{name: f"l.{name}" for name in FIELDS},
        # as the hash of the close reads them, so that a file can be checked against it
        **{name: f"trim_scale(l.{name})" for name in ("rate", "fx", "raw")},
    },
    safe=frozenset({"line_id", "kind", "status"}),
)
_MONEY = ("own", "entries", "corrections", "total", "payable", "rounding")
_TIME = ("held_ms", "busy_ms", "idle_ms", "unknown_ms", "without_money_ms")
STATEMENTS = ExportTable(
    What.STATEMENTS,
    (
        *(FileColumn(name) for name in ("number", "period", "revision", "team")),
        *(FileColumn(name) for name in ("name", "department", "cost_center")),
        *(FileColumn(name) for name in ("currency", "method")),
        *(decimal_column(name, 14) for name in _MONEY),
        *(FileColumn(name, CellType.INTEGER) for name in _TIME),
    ),
    {
        "number": "CASE WHEN %(is_closed)s THEN"
        " %(period)s || '-' || s.team || '-r' || %(revision)s::text END",
        "period": "%(period)s",
        "revision": "CASE WHEN %(is_closed)s THEN 'r' || %(revision)s::text ELSE 'running' END",
        "team": "s.team",
        "name": "coalesce(%(payers)s::jsonb -> s.team ->> 'name', s.team)",
        "department": "coalesce(%(payers)s::jsonb -> s.team ->> 'department', '')",
        "cost_center": "coalesce(%(payers)s::jsonb -> s.team ->> 'cost_centre', '')",
        "currency": "%(currency)s",
        "method": "%(method)s",
        "own": "s.own6",
        "entries": "s.entries6",
        "corrections": "s.corrections6",
        "total": "s.total6",
        "payable": "s.payable",
        "rounding": "s.payable - s.total6",
        "held_ms": held("s"),
        **{name: f"s.{name}" for name in _TIME[1:]},
    },
    safe=frozenset({"number", "period", "revision", "currency", "method"}),
)
_FOCUS_SAFE = frozenset(
    {
        *("BillingCurrency", "ChargeCategory", "ChargeClass", "ChargeFrequency"),
        *("PricingUnit", "PricingCategory", "ConsumedUnit", "ServiceCategory"),
        *("ServiceSubcategory", "ServiceName", "SkuMeter", "SkuPriceDetails"),
        *("InvoiceId", "InvoiceDetailId", "AllocatedMethodId"),
        *("PricingCurrency", "CommitmentDiscountId", "CommitmentDiscountStatus"),
        *("x_LineId", "x_LineKind", "x_State", "x_Method"),
        *("x_Revision", "x_InvoiceDetailId", "x_AllocatedMethodId"),
    }
)


def table_of(what: What, profile: str = "focus-1.4") -> ExportTable:
    """The columns and cells of a file.

    The columns of a journal are in the setup file (`accounting/exports/tasks/journal.py`).

    Raises:
        KeyError: the profile does not exist.
    """
    if what is What.CHARGES:
        return CHARGES
    if what is What.STATEMENTS:
        return STATEMENTS
    chosen = PROFILES[profile]
    return ExportTable(
        what,
        chosen.columns,
        FOCUS_CELLS,
        FOCUS_COLUMNS,
        has_charge=True,
        safe=_FOCUS_SAFE,
        profile=chosen,
    )
