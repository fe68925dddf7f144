"""What GPUs report of themselves (alerts.md R6, R11-R14): heat, errors, memory that only grows."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from accounting.core.interval import HOUR_MS
from accounting.metering.models.cluster import Gpu
from accounting.metering.models.ledger import DataIssue
from accounting.metering.rules.inventory.families import family_of
from scheduler_view.alerts.rules.catalogue import Limits
from scheduler_view.alerts.rules.cause import AlertCause, Firing
from scheduler_view.alerts.rules.states import FigureUnit

XID = "gpu_xid"
HARDWARE = frozenset({XID, "gpu_ecc", "gpu_row_remap"})
"""Codes of data issues that GPUs report."""
GROWN = Decimal("1.2")  # R6: by a fifth in all, so that noise does not count
_XID = re.compile(r"^(?P<uuid>\S+) XID (?P<code>\d+)$")
NEWEST = timedelta(minutes=15)  # of windows whose heat is of now
_GIB = 1024**3


def _rows(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


# GPUs that are hot in one of the newest windows of their cluster, and the first of these windows
# without a cooler one after it. Since when before that: the alert remembers it.
_HOT = """
    WITH newest AS (
        SELECT c.id, c.name, w.window_start AS at FROM accounting_cluster c
        CROSS JOIN LATERAL (
            SELECT window_start FROM intensity_window w
            WHERE w.cluster_id = c.id ORDER BY window_start DESC LIMIT 1
        ) w WHERE c.retired_at IS NULL
    ), recent AS (
        SELECT n.name, w.gpu_id, w.window_start, w.temperature_peak_c AS peak,
               max(CASE WHEN w.temperature_peak_c < %(least)s THEN w.window_start END)
                   OVER (PARTITION BY n.id, w.gpu_id) AS cooler
        FROM newest n JOIN intensity_window w
          ON w.cluster_id = n.id AND w.window_start > n.at - %(recent)s
        WHERE w.temperature_seen_us > 0
    )
    SELECT r.name, g.uuid, g.model, max(r.peak),
           coalesce(min(r.window_start) FILTER (
               WHERE r.cooler IS NULL OR r.window_start > r.cooler), min(r.window_start))
    FROM recent r JOIN accounting_gpu g ON g.id = r.gpu_id
    WHERE r.peak >= %(least)s
    GROUP BY r.name, g.uuid, g.model ORDER BY max(r.peak) DESC, g.uuid
"""


def hot_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """GPUs that reached the temperature in one of the newest three windows of their cluster."""
    del at
    least = limits.organization or 0
    for cluster, uuid, model, peak, since in _rows(
        _HOT, {"least": least, "recent": NEWEST}
    ):
        yield AlertCause(
            key=uuid,
            what=f"{_short(uuid)} reaches {peak} °C",
            about=f"{model} on {cluster}",
            since=since,
            fired_at=since,
            figure=Decimal(peak),
            unit=FigureUnit.CELSIUS,
            place=(uuid,),
            keeps_since=True,
        )


_HOT_DAYS = """
    SELECT gpu_id, hour_start, max(temperature_peak_c) FROM intensity_gpu_hour
    WHERE hour_start >= %(start)s AND hour_start < %(end)s AND temperature_seen_us > 0
      AND temperature_peak_c >= %(least)s
    GROUP BY gpu_id, hour_start ORDER BY gpu_id, hour_start
"""


def hot_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """Hours in which GPUs reached the temperature; hours in a row are one cause."""
    choices = tuple(choices)
    values = {"start": start, "end": end, "least": min(choices)}
    rows = _rows(_HOT_DAYS, values)
    for least in choices:
        before: tuple[int, datetime] | None = None
        for gpu, hour, peak in rows:
            if peak < least:
                continue
            if before != (gpu, hour - timedelta(hours=1)):
                yield Firing(least, 0, hour)
            before = gpu, hour


def issues_within(start: datetime, end: datetime) -> QuerySet[DataIssue]:
    """Issues that were open in some time."""
    is_open = Q(resolved_at__isnull=True) | Q(resolved_at__gte=start)
    return DataIssue.objects.filter(is_open, first_seen__lt=end)


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of GPUs that one rule is about: all of some codes, or some XIDs."""

    codes: frozenset[str]
    xids: Mapping[int, str]

    def causes(self, limits: Limits, at: datetime) -> Iterator[AlertCause]:
        """Open errors, one row for each GPU."""
        del limits, at
        open_ones = DataIssue.objects.filter(
            resolved_at__isnull=True, code__in=self._codes
        )
        found: dict[str, list[DataIssue]] = {}
        for issue in open_ones.select_related("cluster").order_by("first_seen"):
            if uuid := self._uuid(issue.code, issue.subject):
                found.setdefault(uuid, []).append(issue)
        models = dict(Gpu.objects.filter(uuid__in=found).values_list("uuid", "model"))
        for uuid, same in found.items():
            first = same[0]
            texts = dict.fromkeys(self._text(issue) for issue in same)
            yield AlertCause(
                key=uuid,
                what=f"{_short(uuid)} reports {', '.join(texts)}"[:500],
                about=f"{models.get(uuid, '')} on {first.cluster}",
                since=first.first_seen,
                fired_at=first.first_seen,
                figure=Decimal(sum(issue.count for issue in same)),
                unit=FigureUnit.ERRORS,
                place=(uuid,),
            )

    def past(
        self, choices: Iterable[int], start: datetime, end: datetime
    ) -> Iterator[Firing]:
        """When errors of each GPU were first seen."""
        seen: dict[str, datetime] = {}
        issues = issues_within(start, end).filter(code__in=self._codes)
        for code, subject, at in issues.values_list("code", "subject", "first_seen"):
            if uuid := self._uuid(code, subject):
                seen[uuid] = max(start, min(at, seen.get(uuid, at)))
        for least in choices:
            yield from (Firing(least, 0, at) for at in seen.values())

    def is_seen(self, since: datetime) -> bool | None:
        """True if such an error was ever reported; else it is not known: most GPUs report none."""
        del since
        return DataIssue.objects.filter(code__in=self._codes).exists() or None

    @property
    def _codes(self) -> frozenset[str]:
        return self.codes | ({XID} if self.xids else frozenset())

    def _uuid(self, code: str, subject: str) -> str:
        """The GPU of an issue; "" for an XID of another rule."""
        if code != XID:
            return subject
        match = _XID.match(subject)
        return match["uuid"] if match and int(match["code"]) in self.xids else ""

    def _text(self, issue: DataIssue) -> str:
        match = _XID.match(issue.subject)
        if match:
            return self.xids[int(match["code"])]
        remap = "a row that cannot be remapped"
        return remap if issue.code == "gpu_row_remap" else "uncorrected memory errors"


MEMORY_ERRORS = Errors(
    frozenset({"gpu_ecc", "gpu_row_remap"}),
    {48: "XID 48, a double-bit error", 64: "XID 64, a row that cannot be remapped"},
)
NVLINK_ERRORS = Errors(frozenset(), {74: "XID 74, an NVLink error"})
LOST = Errors(
    frozenset(),
    {
        79: "XID 79: it has fallen off the bus",
        95: "XID 95, an uncontained memory error",
        119: "XID 119: its firmware does not respond",
    },
)
"""XIDs that a program does not cause (NVIDIA's list of XID errors)."""


def _short(uuid: str) -> str:
    return uuid if len(uuid) <= 20 else f"{uuid[:16]}…"


# Peaks of complete hours of each workload, oldest first. A workload that has no observed peak in
# one of the hours is not in it.
_PEAKS = """
    SELECT i.cluster_id, i.team_id, i.workload_id, i.hour_start, max(i.memory_peak_bytes)
    FROM intensity_hour i
    WHERE i.hour_start >= %(start)s AND i.hour_start < %(end)s
      AND i.workload_id <> 0 AND i.memory_seen_us > 0
    GROUP BY i.cluster_id, i.team_id, i.workload_id, i.hour_start
    ORDER BY i.cluster_id, i.team_id, i.workload_id, i.hour_start
"""


def _grows(peaks: list[tuple[datetime, int]]) -> bool:
    """Whether each of some hours in a row has a higher peak, by a fifth in all."""
    hour = timedelta(hours=1)
    pairs = list(pairwise(peaks))
    rises = all(b[0] - a[0] == hour and b[1] > a[1] for a, b in pairs)
    return rises and bool(pairs) and peaks[-1][1] >= peaks[0][1] * GROWN


def growth_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Workloads whose peak memory grew in each of the newest complete hours."""
    counts = [n for n in (limits.organization, *limits.teams.values()) if n is not None]
    if not counts:
        return
    newest = _newest_hours(at)
    if not newest:
        return
    end = max(newest.values()) + timedelta(hours=1)
    start = min(newest.values()) - timedelta(hours=max(counts))
    for (cluster, team, workload), peaks in _by_work(start, end).items():
        hours = limits.of(team or None)
        last = peaks[-(hours or 0) :]
        is_current = peaks[-1][0] == newest.get(cluster)
        if hours and is_current and len(last) == hours and _grows(last):
            yield from _growth(team, workload, last, hours)


def _newest_hours(at: datetime) -> Mapping[int, datetime]:
    """The start of the newest complete hour with data of memory, by cluster: one may be late."""
    return dict(
        _rows(
            "SELECT cluster_id, max(hour_start) FROM intensity_hour"
            " WHERE hour_start > %(since)s AND hour_start <= %(until)s"
            " AND memory_seen_us > 0 GROUP BY cluster_id",
            {"since": at - timedelta(days=2), "until": at - timedelta(hours=1)},
        )
    )


def _by_work(
    start: datetime, end: datetime
) -> dict[tuple[int, int, int], list[tuple[datetime, int]]]:
    """Peaks of the hours of each cluster, team and workload."""
    found: dict[tuple[int, int, int], list[tuple[datetime, int]]] = {}
    for *key, hour, peak in _rows(_PEAKS, {"start": start, "end": end}):
        cluster, team, workload = key
        found.setdefault((cluster, team, workload), []).append((hour, peak))
    return found


_WORK = """
    SELECT c.name, n.name, w.kind, w.name, w.family, coalesce(t.slug, '')
    FROM accounting_workload w JOIN accounting_namespace n ON n.id = w.namespace_id
    JOIN accounting_cluster c ON c.id = w.cluster_id
    LEFT JOIN accounting_team t ON t.id = %(team)s
    WHERE w.id = %(workload)s
"""


def _growth(
    team: int, workload: int, peaks: list[tuple[datetime, int]], hours: int
) -> Iterator[AlertCause]:
    values = {"team": team, "workload": workload}
    for cluster, namespace, kind, name, family, slug in _rows(_WORK, values):
        first, last = peaks[0][1] / _GIB, peaks[-1][1] / _GIB
        place = (slug, namespace, family or family_of(name, kind)) if slug else ()
        yield AlertCause(
            key=f"{workload}/{team}",
            what=f"Memory of {name} only grows",
            about=f"{first:.1f} to {last:.1f} GiB in {hours} h, {namespace} on {cluster}",
            team=team or None,
            since=peaks[0][0],
            fired_at=peaks[-1][0] + timedelta(hours=1),
            keeps_since=True,
            figure=Decimal(peaks[-1][1]),
            unit=FigureUnit.BYTES,
            place=place,
        )


def growth_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """Hours at whose end memory had grown for so long; hours in a row are one cause."""
    choices = tuple(choices)
    by_work = _by_work(start - timedelta(hours=max(choices)), end)
    for hours in choices:
        for (_, team, _), peaks in by_work.items():
            was = False  # at the begin: what grew before counts there
            for n in range(hours, len(peaks) + 1):
                now = _grows(peaks[n - hours : n])
                at = peaks[n - 1][0] + timedelta(hours=1)
                if start <= at < end:
                    if now and not was:
                        yield Firing(hours, team, at)
                    was = now


def is_hot_seen(since: datetime) -> bool:
    """Whether temperatures are in the data of the time since then."""
    return _is_seen("temperature_seen_us", since)


def is_memory_seen(since: datetime) -> bool:
    """Whether memory in use is."""
    return _is_seen("memory_seen_us", since)


def _is_seen(column: str, since: datetime) -> bool:
    rows = _rows(
        f"""SELECT EXISTS (SELECT FROM intensity_hour
            WHERE hour_start >= %(since)s AND {column} > 0)""",  # noqa: S608  # a name of this module
        {"since": since - timedelta(milliseconds=HOUR_MS)},
    )
    return bool(rows[0][0])
