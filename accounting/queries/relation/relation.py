"""The table that answers a selection, as one SELECT with the columns that reports sum.

Days by family if possible, else days, hours, or the five-minute facts: the cost depends on the
requested range, not on the length of the history. By GPU or node: days, with hours and facts at
the ends of the range.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from accounting.domain.core.interval import Interval
from accounting.queries.dimensions import BY_NAME, Dimension, StoredIn, named
from accounting.queries.relation.by_gpu import gpu_ids, rows_by_gpu
from accounting.queries.relation.families import with_family
from accounting.queries.relation.gpu_rollups import Grain, Piece
from accounting.queries.relation.retained_range import kept_facts
from accounting.queries.relation.row_limit import check_rows
from accounting.queries.relation.stored_columns import INTENSITY, USAGE, Column
from accounting.queries.selection import (
    Selection,
    SelectionError,
    billing_days,
    is_on_days,
    is_on_hours,
)
from accounting.rating.charge_sql import GPU_COLUMNS, parameters


@dataclass(slots=True)
class Relation:
    """A FROM clause with names joined in, conditions, and their parameters.

    Attributes:
        body: a SELECT whose rows have the rollup's columns, and those of `finer`.
        finer: additional columns of the facts: gpu_id, node_id, pod_id.
        has_families: its rows have families, and no workloads.
        joins: the tables with names that dimensions and filters need.
        where: conditions over the joined names.
    """

    body: str
    finer: tuple[str, ...] = ()
    has_families: bool = False
    joins: tuple[str, ...] = ()
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
        keys: Mapping[str, str],
        rates: Sequence[str],
        summed: Sequence[str],
        where: str = "true",
        more: Sequence[str] = (),
        is_booked: str = "",
    ) -> str:
        """A SELECT for a report with money: its rows, summed by key, rates and currency.

        So integers are multiplied by a rate once for each rate, not once for each row. The result
        is the same, because neither rounds.

        Args:
            keys: SQL by name, over the joined tables.
            rates: columns, as `rate`.
            summed: columns of integers.
            where: a further condition.
            more: further columns, constant.
            is_booked: of which rows the money is elsewhere: they have no rate and no currency, and
                the column `is_booked` after the sums.
        """
        kept = {name: f"u.{name}" for name in rates} | {"currency": "u.currency"}
        tables = self.tables
        if is_booked:
            tables += f" CROSS JOIN LATERAL (SELECT {is_booked} AS is_booked) b"
            nothing = [*("NULL" for _ in rates), "''"]
            kept = {
                name: f"CASE WHEN b.is_booked THEN {none} ELSE {sql} END"
                for (name, sql), none in zip(kept.items(), nothing, strict=True)
            }
            keys = {name: f"coalesce({sql}, '')" for name, sql in keys.items()}
        named = [f"{sql} AS {name}" for name, sql in {**keys, **kept}.items()]
        sums = [f"sum(u.{name})::bigint AS {name}" for name in summed]
        flag = ["b.is_booked"] if is_booked else []
        groups = ", ".join((*keys.values(), *kept.values(), *flag))
        return f"""
            SELECT {", ".join((*named, *sums, *flag, *more))} {tables}
            WHERE {self.condition} AND {where}
            GROUP BY {groups}
        """  # built from this project's own constants


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
    wanted = named((*dimensions, *selection.filters))
    chosen = _base(selection, wanted, column)
    if BY_NAME["family"] in wanted and not chosen.has_families:
        chosen.body = with_family(chosen.body)
    chosen.joins = tuple(dict.fromkeys(join for one in wanted for join in one.joins))
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
    if StoredIn.HOURS in stored or (period is not None and not is_on_days(period)):
        return _hours(period, column.hours)
    if BY_NAME["workload"] in wanted or column.family_days == column.days:
        return _days(period, column.days)
    chosen = _days(period, column.family_days)
    chosen.has_families = True
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


def _restrict(chosen: Relation, selection: Selection) -> None:
    for name, values in selection.filters.items():
        chosen.where.append(f"{BY_NAME[name].sql} = ANY(%(f_{name})s)")
        chosen.parameters[f"f_{name}"] = list(values)
    if selection.scope.team_ids is not None:
        chosen.where.append("u.team_id = ANY(%(scope)s) AND u.team_id <> 0")
        chosen.parameters["scope"] = sorted(selection.scope.team_ids)
