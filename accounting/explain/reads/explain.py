"""Explains a number by its evidence: formula with values, samples, metric, price, rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from django.db import connection

from accounting.core.interval import HOUR_MS, Interval
from accounting.core.ledger_line import STATES
from accounting.core.money import Money
from accounting.explain.reads.booked_amount import BookedAmount, booked_amount
from accounting.explain.reads.formulas import exactly, formula_of, hours
from accounting.explain.reads.prices import (
    ALL_TIME,
    HELD_TIME,
    IDLE_TIME,
    Amount,
    PriceUsed,
    amounts_of,
    prices_used,
)
from accounting.explain.reads.rules import scale_rule
from accounting.kit.reads.selection import Selection, SelectionError, stored_period
from accounting.kit.rows import column, listed
from accounting.metering.models.usage import UtilizationMetric
from accounting.metering.reads.share_policies import policies_in
from accounting.metering.rules.samples.sample_counts import samples_note
from accounting.usage.reads.ledger import ledger_total
from accounting.usage.reads.relation.relation import relation
from accounting.usage.reads.usage import usage_rows, usage_total
from accounting.usage.rules.rows import LedgerRow, UsageRow
from accounting.usage.rules.totals import state_amounts

WITHOUT_SAMPLES = (
    UtilizationMetric.ENGINE_ACTIVE,
    UtilizationMetric.GPU_UTIL,
)  # what to look for
LABELS = {
    UtilizationMetric.AMD_ACTIVITY: ("serial_number", "hostname")
}  # of GPU and node
MOST_NAMESPACES = 20  # of one query to Prometheus: more cannot be read


@listed("UsedState")
class StateUsed:
    """One of the seven states."""

    name: str = column(name="state")
    milliseconds: int = column()
    amount: Amount | None = column()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a number.

    Attributes:
        title: name of the number.
        formula: as text, then with this number's values.
        inputs: (name, value) in the order of reading.
        prices: every price that was used, largest amount first; they add up exactly to the
            figure.
        booked: the parts of the figure by close; None if nothing of it is booked.
        states: of the ledger, the seven states; they add up to the same figure.
        samples_note: why used and expected samples differ; "" if they do not.
        metrics: (metric, share of the observed windows' lines).
        promql: to copy; a query for its raw samples.
        rules: the numbers of the rules that define it.
    """

    title: str
    formula: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]
    prices: tuple[PriceUsed, ...]
    metrics: tuple[tuple[str, int], ...]
    promql: tuple[str, ...]
    rules: tuple[str, ...]
    states: tuple[StateUsed, ...] = ()
    samples_note: str = ""
    booked: BookedAmount | None = None


FIGURES = ("charge", "idle_charge", "allocated", "busy_share", "coverage", "ledger")


_PRICED = {"charge": HELD_TIME, "idle_charge": IDLE_TIME}  # the time that is charged
_USAGE_FIGURE: dict[str, Callable[[UsageRow], Money | None]] = {
    "charge": attrgetter("charge"),
    "idle_charge": attrgetter("idle_charge"),
}


def explain(selection: Selection, figure: str, places: int = 2) -> Explanation:
    """Explain one figure of a selection.

    Args:
        selection: the period, filters and scope of the number.
        figure: one of FIGURES.
        places: of the currency: money is rounded to them, as on the page of the number.

    Raises:
        ValueError: an unknown figure.
    """
    if figure not in FIGURES:
        raise ValueError(f"unknown figure {figure!r}")
    if figure == "ledger":
        return _of_ledger(selection, places)
    total = usage_total(selection)
    metrics = _metrics(selection)
    prices = (
        prices_used(selection, _PRICED[figure], places) if figure in _PRICED else ()
    )
    booked = _booked_usage(selection, figure, prices)
    return Explanation(
        title=_TITLES[figure],
        formula=formula_of(figure, total, prices, booked, places),
        inputs=(*_inputs(total), _shares(selection)),
        prices=prices,
        metrics=tuple((metric.label, count) for metric, count in metrics),
        promql=_promql(selection, [metric for metric, _ in metrics]),
        rules=(*_RULES[figure], *scale_rule(selection, figure), *_rules_of(booked)),
        samples_note=samples_note(
            total.samples_used, total.samples_expected, total.unknown_ms
        ),
        booked=booked,
    )


def _booked_usage(
    selection: Selection, figure: str, prices: Sequence[PriceUsed]
) -> BookedAmount | None:
    if figure not in _PRICED:
        return None
    amount = _USAGE_FIGURE[figure]
    return booked_amount(
        selection,
        prices,
        _PRICED[figure],
        lambda other: amount(usage_total(other)),
    )


def _rules_of(booked: BookedAmount | None) -> tuple[str, ...]:
    return () if booked is None else ("M5",)


_TITLES = {
    "charge": "Charge",
    "idle_charge": "Idle cost",
    "allocated": "Allocated GPU-hours",
    "busy_share": "Busy share",
    "coverage": "Coverage",
}
_RULES = {
    "charge": ("N26", "N27", "N28"),
    "idle_charge": ("N21", "N26", "N28"),
    "allocated": ("N10", "N11", "N34"),
    "busy_share": ("N5", "N6", "N7", "N21", "N34"),
    "coverage": ("N5", "N21", "N34"),
    "ledger": ("N14", "N15", "N21", "N23", "N27", "N28"),
}


def _inputs(row: UsageRow) -> tuple[tuple[str, str], ...]:
    return (
        ("Busy", exactly(row.busy_ms)),
        ("Idle", exactly(row.idle_ms)),
        ("No data", exactly(row.unknown_ms)),
        ("Samples used", f"{row.samples_used:,}"),
        ("Samples expected (at least)", f"{row.samples_expected:,}"),
        ("Shared by rule", "yes" if row.estimated else "no"),
    )


def _shares(selection: Selection) -> tuple[str, str]:
    return ("Shares of divided GPUs", ", ".join(policies_in(selection)))


def _of_ledger(selection: Selection, places: int) -> Explanation:
    row = ledger_total(selection)
    metrics = _metrics(selection)
    prices = prices_used(selection, ALL_TIME, places)
    booked = booked_amount(
        selection, prices, ALL_TIME, lambda other: ledger_total(other).wall_charge
    )
    return Explanation(
        title="Where the GPU-hours went",
        formula=(
            " + ".join(STATES) + " = time the GPUs were there",
            " + ".join(hours(row.milliseconds[state]) for state in STATES)
            + f" = {hours(row.wall_ms)} GPU-h",
        ),
        inputs=(_shares(selection),),
        prices=prices,
        metrics=tuple((metric.label, count) for metric, count in metrics),
        promql=_promql(selection, [metric for metric, _ in metrics]),
        rules=(
            *_RULES["ledger"],
            *scale_rule(selection, "ledger"),
            *_rules_of(booked),
        ),
        states=_states(row, places, has_price=bool(amounts_of(prices))),
        booked=booked,
    )


def _states(row: LedgerRow, places: int, *, has_price: bool) -> tuple[StateUsed, ...]:
    amounts = state_amounts(row, places)
    return tuple(
        StateUsed(
            name=state.capitalize(),
            milliseconds=row.milliseconds[state],
            amount=amounts[state] if has_price else None,
        )
        for state in STATES
    )


def _metrics(selection: Selection) -> list[tuple[UtilizationMetric, int]]:
    """Held lines of the newest hour of a selection, by metric.

    Empty if the facts have expired (N32).
    """
    hour = _newest_hour(selection)
    try:
        chosen = relation(replace(selection, period=hour), ("gpu", "pod"))
    except SelectionError:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH chosen AS MATERIALIZED (
                SELECT DISTINCT u.gpu_id, u.pod_id {chosen.text()} AND u.pod_id <> 0
            )
            SELECT w.metric, count(*)
            FROM usage_window w JOIN chosen USING (gpu_id, pod_id)
            WHERE w.window_start >= %(start)s AND w.window_start < %(end)s
            GROUP BY w.metric ORDER BY count(*) DESC, w.metric
            """,  # built from this project's own constants
            chosen.parameters,
        )
        return [
            (UtilizationMetric(metric), count) for metric, count in cursor.fetchall()
        ]


def _newest_hour(selection: Selection) -> Interval:
    stored = stored_period() or Interval(0, 0)
    end = stored.end_ms
    if selection.period is not None:
        end = min(end, selection.period.end_ms)
    return Interval(max(0, end - HOUR_MS), end)


def _promql(
    selection: Selection, metrics: Sequence[UtilizationMetric]
) -> tuple[str, ...]:
    """A query for the raw samples of a number, with the metric names that were read."""
    named = [
        m for m in metrics if m not in (UtilizationMetric.NONE, UtilizationMetric.OTHER)
    ]
    namespaces = _namespaces(selection)
    return tuple(
        _question(selection, namespaces, metric) for metric in named or WITHOUT_SAMPLES
    )


def _namespaces(selection: Selection) -> Sequence[str]:
    """The namespaces of a selection's samples; empty if not needed, or if there are too many.

    Samples have no label for a team, a tier or a workload: their namespaces are used.
    """
    filters = selection.filters
    if "namespace" in filters or not set(filters) - {"cluster", "gpu", "node"}:
        return filters.get("namespace", ())
    held = {row.key["namespace"] for row in usage_rows(selection, ("namespace",))}
    return sorted(held) if len(held) <= MOST_NAMESPACES else ()


def _question(
    selection: Selection, namespaces: Sequence[str], metric: UtilizationMetric
) -> str:
    uuid, node = LABELS.get(metric, ("UUID", "Hostname"))
    values = {
        "exported_namespace": namespaces,
        "exported_pod": selection.filters.get("pod", ()),
        node: selection.filters.get("node", ()),
        uuid: selection.filters.get("gpu", ()),
    }
    match = ", ".join(
        f'{label}=~"{"|".join(those)}"' for label, those in values.items() if those
    )
    return f"{metric.label}{{{match}}}[5m]" if match else f"{metric.label}[5m]"
