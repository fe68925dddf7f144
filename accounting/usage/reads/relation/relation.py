"""The table that answers a selection, as one SELECT with the columns that reports sum.

Days by family if possible, else days, with hours where a range cuts days; hours, or the five-minute
facts: the cost depends on the requested range, not on the length of the history. By GPU or node:
days, with hours and facts at the ends of the range.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from accounting.access.reads.billing_settings import midnight
from accounting.core.interval import Interval
from accounting.core.unmapped import UNMAPPED
from accounting.kit.reads.dimensions import (
    BY_NAME,
    Dimension,
    StoredIn,
    joins_of,
    lookups_of,
    named,
)
from accounting.kit.reads.selection import (
    Selection,
    SelectionError,
    billing_days,
    days_inside,
    is_on_days,
    is_on_hours,
)
from accounting.prices.sql.charge_sql import GPU_COLUMNS, parameters
from accounting.usage.reads.relation.by_gpu import gpu_ids, rows_by_gpu
from accounting.usage.reads.relation.families import with_family, with_family_of_few
from accounting.usage.reads.relation.gpu_rollups import Grain, Piece
from accounting.usage.reads.relation.retained_range import kept_facts
from accounting.usage.reads.relation.row_limit import check_rows
from accounting.usage.reads.relation.stored_columns import INTENSITY, USAGE, Column

ALL = "true"
"""A condition that needs no test of each row."""


@dataclass(slots=True)
class Relation:
    """A FROM clause with names joined in, conditions, and their parameters.

    Attributes:
        body: a SELECT whose rows have the rollup's columns, and those of `finer`.
        finer: additional columns of the facts: gpu_id, node_id, pod_id.
        has_families: its rows have families, and no workloads.
        joins: the tables with names that dimensions and filters need.
        filter_joins: those that filters need.
        where: conditions over the joined names.
    """

    body: str
    finer: tuple[str, ...] = ()
    has_families: bool = False
    joins: tuple[str, ...] = ()
    filter_joins: tuple[str, ...] = ()
    where: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> str:
        """The FROM of a report."""
        return " ".join((f"FROM ({self.body}) u", *self.joins))

    @property
    def condition(self) -> str:
        """The conditions of its rows."""
        return " AND ".join(self.where) or "true"

    @property
    def is_held(self) -> str:
        """A condition over its rows: time that pods held."""
        return "u.pod_id <> 0" if "pod_id" in self.finer else "u.namespace_id <> 0"

    def text(self) -> str:
        """The FROM ... WHERE of a report."""
        return f"{self.tables} WHERE {self.condition}"

    def by_rate(
        self,
        by: Sequence[Dimension],
        rates: Sequence[str],
        summed: Sequence[str],
        where: str = "true",
        more: Sequence[str] = (),
        is_booked: str = "",
    ) -> str:
        """A SELECT for a report with money: its rows, summed by dimensions, rates and currency.

        So integers are multiplied by a rate once for each rate, not once for each row, and names
        are looked up once for each sum. The result is the same, because neither rounds.

        Args:
            by: their keys are columns of the result, by name.
            rates: columns, as `rate`.
            summed: columns of integers.
            where: a further condition.
            more: further columns, constant.
            is_booked: of which rows the money is elsewhere, or `ALL`: they have no rate and no
                currency, and the column `is_booked` after the sums.
        """
        keys = {key.name: key.sql for one in by for key in one.keys}
        if all(one.is_of_lines for one in by):  # lines have texts, and no references
            keys = {name: f"coalesce({sql}, '')" for name, sql in keys.items()}
        joins = lookups_of(by)
        prices, money, flag = _prices(rates, is_booked)
        tables = " ".join((f"FROM ({self.body}) u", *self.filter_joins))
        if is_booked not in ("", ALL):
            tables += f" CROSS JOIN LATERAL (SELECT {is_booked} AS is_booked) b"
        columns = dict.fromkeys(_COLUMN.findall(" ".join((*keys.values(), *joins))))
        groups = {name: f"u.{name}" for name in columns} | prices
        inner = [f"{sql} AS {name}" for name, sql in groups.items()]
        sums = [f"sum(u.{name})::bigint AS {name}" for name in summed]
        outer = [f"{sql} AS {name}" for name, sql in keys.items()]
        money += [f"u.{name}" for name in summed]
        grouped = ", ".join(groups.values())
        return f"""
            SELECT {", ".join((*outer, *money, *flag, *more))} FROM (
                SELECT {", ".join((*inner, *sums))} {tables}
                WHERE {self.condition} AND {where}
                {f"GROUP BY {grouped}" if grouped else "HAVING count(*) > 0"}
            ) u {" ".join(joins)}
        """  # built from this project's own constants


_COLUMN = re.compile(r"\bu\.(\w+)")


def _prices(
    rates: Sequence[str], is_booked: str
) -> tuple[dict[str, str], list[str], list[str]]:
    """What rows are summed by beside their key, and columns of the result: prices, `is_booked`."""
    kept = {name: f"u.{name}" for name in (*rates, "currency")}
    if not is_booked:
        return kept, [*kept.values()], []
    nothing = [*("NULL::numeric" for _ in rates), "''"]
    if is_booked == ALL:
        return {}, nothing, [ALL]
    prices = {
        name: f"CASE WHEN b.is_booked THEN {none} ELSE {sql} END"
        for (name, sql), none in zip(kept.items(), nothing, strict=True)
    }
    return prices | {"is_booked": "b.is_booked"}, [*kept.values()], ["u.is_booked"]


def relation(selection: Selection, dimensions: Iterable[str]) -> Relation:
    """The table for some dimensions, restricted to a selection and its scope.

    Raises:
        SelectionError: five-minute facts are needed and have expired (N32).
    """
    return _chosen(selection, dimensions, USAGE)


def hard_relation(selection: Selection, dimensions: Iterable[str]) -> Relation:
    """The same for GPU activity.

    Raises:
        SelectionError: as `relation`.
    """
    return _chosen(selection, dimensions, INTENSITY)


def _chosen(
    selection: Selection, dimensions: Iterable[str], column: Column
) -> Relation:
    wanted = named((*dimensions, *selection.filters, *selection.excludes))
    chosen = _base(selection, wanted, column)
    if BY_NAME["family"] in wanted and not chosen.has_families:
        chosen.body = with_family(chosen.body)
    chosen.joins = joins_of(wanted)
    _restrict(chosen, selection)
    return chosen


def _base(
    selection: Selection, wanted: Sequence[Dimension], column: Column
) -> Relation:
    period = selection.period
    stored = {one.stored for one in wanted}
    if StoredIn.GPU_DAYS in stored and StoredIn.FACTS not in stored:
        by_hour = StoredIn.HOURS in stored
        text, values = rows_by_gpu(selection, column, by_hour=by_hour)
        return Relation(text, finer=GPU_COLUMNS, parameters=values)
    if StoredIn.FACTS in stored or (period is not None and not _fits_rollups(period)):
        return _facts(selection, wanted, column)
    if StoredIn.HOURS in stored:
        return _hours(period, column.hours)
    by_family = column.has_family_days and BY_NAME["workload"] not in wanted
    if period is None or is_on_days(period):
        chosen = _days(period, column.family_days if by_family else column.days)
    else:
        chosen = _days_and_hours(
            period,
            column,
            by_family=by_family,
            has_family=by_family and BY_NAME["family"] in wanted,
        )
    chosen.has_families = by_family
    return chosen


def _fits_rollups(period: Interval) -> bool:
    return is_on_hours(period) or is_on_days(period)


def _days(period: Interval | None, table: str) -> Relation:
    if period is None:
        return Relation(f"SELECT * FROM {table}")  # of this module
    first, after = billing_days(period)
    return Relation(
        f"SELECT * FROM {table} WHERE billing_on >= %(first)s AND billing_on < %(after)s",
        parameters={"first": first, "after": after},
    )


def _days_and_hours(
    period: Interval, column: Column, *, by_family: bool, has_family: bool
) -> Relation:
    """The billing days within a range, and the hours of those that it cuts."""
    first, after = days_inside(period)
    kept = [c for c in column.columns if not (by_family and c == "workload_id")]
    columns = ", ".join(("cluster_id", *kept, *(["family"] if has_family else [])))
    cut = _hours(period, column.hours)
    cut.body += """ AND NOT (billing_on >= %(day)s AND billing_on < %(beyond)s)
        AND (hour_start < %(day_start)s OR hour_start >= %(days_end)s)"""
    hours = with_family_of_few(cut.body) if has_family else cut.body
    days = column.family_days if by_family else column.days
    return Relation(
        f"""SELECT {columns} FROM {days} WHERE billing_on >= %(day)s AND billing_on < %(beyond)s
            UNION ALL SELECT {columns} FROM ({hours}) h""",
        parameters=cut.parameters
        | {
            "day": first,
            "beyond": after,
            "day_start": midnight(first),
            "days_end": midnight(after)
            - timedelta(hours=1),  # may be within an hour (N31)
        },
    )


def _hours(period: Interval | None, table: str) -> Relation:
    if period is None:
        return Relation(f"SELECT * FROM {table}")  # of this module
    text = (
        f"SELECT * FROM {table} WHERE hour_start >= %(start)s AND hour_start < %(end)s"
    )
    if is_on_hours(period):
        return Relation(text, parameters={"start": period.start, "end": period.end})
    first, after = billing_days(period)  # a day that starts within an hour (N31)
    return Relation(
        f"{text} AND billing_on >= %(first)s AND billing_on < %(after)s",
        parameters={
            "start": period.start - timedelta(hours=1),
            "end": period.end,
            "first": first,
            "after": after,
        },
    )


def _facts(
    selection: Selection, wanted: Sequence[Dimension], column: Column
) -> Relation:
    kept = kept_facts(selection.period, selection.filters.get("cluster"))
    if kept.has_expired:
        since = kept.complete_from
        state = f"kept from {since:%Y-%m-%d} on" if since else "gone"
        raise SelectionError(
            f"five-minute facts are {state}; use a later range, or whole hours "
            "without pod, gpu and node",
            parameter="from",
        )
    period = kept.period
    if period is not None and selection.period is not None:
        period = selection.period.intersection(period)
    period = period or Interval(0, 0)
    all_of_it = Piece(Grain.FACTS, period.start, period.end)
    check_rows(selection, [all_of_it])
    finer = tuple(one.column for one in wanted if one.column)
    return Relation(
        column.facts(finer),
        finer=finer,
        parameters=parameters(None, period.start, period.end, gpu_ids(selection)),
    )


_OF_TEAMS = "u.team_id = ANY(ARRAY(SELECT id FROM accounting_team WHERE slug = ANY(%(f_team)s)))"


def _restrict(chosen: Relation, selection: Selection) -> None:
    by_name = []
    for name, values in selection.filters.items():
        chosen.parameters[f"f_{name}"] = list(values)
        if name == "team" and UNMAPPED not in values:  # indexes have ids
            chosen.where.append(_OF_TEAMS)
            continue
        by_name.append(BY_NAME[name])
        chosen.where.append(f"{BY_NAME[name].sql} = ANY(%(f_{name})s)")
    for name, values in selection.excludes.items():
        chosen.parameters[f"x_{name}"] = list(values)
        by_name.append(BY_NAME[name])
        chosen.where.append(f"coalesce({BY_NAME[name].sql}, '') <> ALL(%(x_{name})s)")
    chosen.filter_joins = joins_of(by_name)
    if selection.scope.team_ids is not None:
        chosen.where.append("u.team_id = ANY(%(scope)s) AND u.team_id <> 0")
        chosen.parameters["scope"] = sorted(selection.scope.team_ids)
