"""One GPU by steps of time: its seven states, and the measurements of its exporter."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta

from django.db import connection

from accounting.core.efficiency import StateTimes, times_of
from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval
from accounting.core.ledger_line import STATES
from accounting.kit.reads.hidden import HiddenError
from accounting.kit.reads.selection import (
    Selection,
    SelectionError,
    refuse_others,
    stored_period,
)
from accounting.kit.rows import Moment, column, derived, listed
from accounting.metering.rules.intensity.summary import NOT_OBSERVED, Intensity
from accounting.metering.sql.states_sql import sums
from accounting.prices.sql.charge_sql import over

STEPS = {"window": WINDOW_MS, "hour": HOUR_MS}


@listed("GpuStep")
class GpuStep:
    """One row of `gpu-steps`: a GPU from `start` on; a value that was not measured is null.

    Attributes:
        hard: of the whole GPU; power and temperature are also measured while it is unallocated.
    """

    gpu: str = column()
    at: Moment = column(name="start")
    length_ms: int = column()
    busy_ms = derived(int, "milliseconds.busy")
    idle_ms = derived(int, "milliseconds.idle")
    unknown_ms = derived(int, "milliseconds.unknown")
    free_ms = derived(int, "milliseconds.free")
    stranded_ms = derived(int, "milliseconds.stranded")
    stray_ms = derived(int, "milliseconds.stray")
    dark_ms = derived(int, "milliseconds.dark")
    efficiency = derived(float | None, "held.efficiency")
    memory_bytes = derived(float | None, "hard.memory_bytes", "mean")
    peak_memory_bytes = derived(int | None, "hard.peak_memory_bytes")
    power_watts = derived(float | None, "hard.power_watts", "mean")
    energy_joules = derived(float | None, "hard.energy_joules")
    peak_celsius = derived(int | None, "hard.peak_celsius")
    sm_active = derived(float | None, "hard.sm_active")
    tensor_active = derived(float | None, "hard.tensor_active")
    dram_active = derived(float | None, "hard.dram_active")
    throttled = derived(
        float | None, "hard.throttled", "share of the time with throttled clocks"
    )
    milliseconds: Mapping[str, int]
    samples_used: int
    samples_expected: int
    hard: Intensity

    @property
    def held(self) -> StateTimes:
        """The held time."""
        return times_of(self.milliseconds)

    @property
    def is_unheld(self) -> bool:
        """True if it is known that no pod held any of it."""
        return not any(
            self.milliseconds[state] for state in ("busy", "idle", "unknown", "dark")
        )


_HARD = tuple(item.name for item in fields(Intensity))
_SUMS = {
    "usage_window": (
        *(sums("w"), "sum(w.samples_used)::bigint", "sum(w.samples_expected)::bigint"),
    ),
    "intensity_window": tuple(over(f"w.{name}", name) for name in _HARD),
}
_ASKED = """
    SELECT date_bin(%(step)s, w.window_start, 'epoch') AS at, {sums}
    FROM {table} w
    WHERE w.cluster_id = ANY(ARRAY(
            SELECT g.cluster_id FROM accounting_gpu g WHERE g.uuid = %(gpu)s))
      AND w.gpu_id = ANY(ARRAY(
            SELECT g.id FROM accounting_gpu g
            JOIN accounting_cluster c ON c.id = g.cluster_id
            WHERE g.uuid = %(gpu)s
              AND (%(clusters)s::text[] IS NULL OR c.name = ANY(%(clusters)s))))
      AND w.window_start >= %(start)s AND w.window_start < %(end)s
    GROUP BY at
"""


def gpu_steps(selection: Selection, step_ms: int) -> list[GpuStep]:
    """The steps of one GPU that have facts, oldest first.

    Args:
        selection: with exactly one GPU.
        step_ms: length of a step: a multiple of five minutes that divides a day.

    Raises:
        HiddenError: the scope does not cover all teams.
        SelectionError: not exactly one GPU, or a filter other than the cluster.
    """
    if not selection.scope.sees_all:
        raise HiddenError("only finance and administrators can see GPUs of all teams")
    refuse_others(selection, ("cluster", "gpu"), "steps of a GPU")
    uuids = selection.filters.get("gpu", ())
    if len(uuids) != 1:
        raise SelectionError("specify one GPU: gpu=<uuid>", parameter="gpu")
    period = selection.period or stored_period() or Interval(0, 1)
    asked = {
        "gpu": uuids[0],
        "clusters": list(selection.filters.get("cluster", ())) or None,
        "step": timedelta(milliseconds=step_ms),
        "start": period.start,
        "end": period.end,
    }
    states = _fetch("usage_window", asked)
    hard = _fetch("intensity_window", asked)
    count = len(STATES)
    return [
        GpuStep(
            gpu=uuids[0],
            at=at,
            length_ms=step_ms,
            milliseconds=dict(zip(STATES, row[:count], strict=True)),
            samples_used=row[count],
            samples_expected=row[count + 1],
            hard=Intensity(**dict(zip(_HARD, hard[at], strict=True)))
            if at in hard
            else NOT_OBSERVED,
        )
        for at, row in sorted(states.items())
    ]


def _fetch(table: str, asked: Mapping[str, object]) -> dict[datetime, list[int]]:
    text = _ASKED.format(table=table, sums=", ".join(_SUMS[table]))
    with connection.cursor() as cursor:
        cursor.execute(text, asked)  # type: ignore[arg-type]  # of this project's words
        return {at: [int(value) for value in row] for at, *row in cursor.fetchall()}
