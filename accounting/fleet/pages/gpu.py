"""One GPU: its holders, states, measurements and payers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.reads.teams import TeamRef, team_named, visible_teams
from accounting.access.rights import ONE_GPU
from accounting.core.interval import DAY_MS, HOUR_MS, WINDOW_MS, Interval
from accounting.core.money import minor_places
from accounting.core.unmapped import UNMAPPED
from accounting.fleet.pages import small_charts, timelines
from accounting.fleet.pages.gpu_line import line_of
from accounting.fleet.pages.gpu_money import earnings
from accounting.fleet.pages.lanes import GpuTime, lanes_of_gpu
from accounting.fleet.reads.fleet import gpu_rows
from accounting.fleet.reads.gpu_events import GpuEvent, gpu_events
from accounting.fleet.reads.steps import GpuStep, gpu_steps
from accounting.fleet.reads.timeline import (
    HeldStretch,
    held_stretches,
    presences,
    profiles,
)
from accounting.kit.pages.permissions import page
from accounting.kit.reads.selection import Selection
from accounting.kit.texts import instant
from accounting.metering.rules.intensity.summary import NOT_OBSERVED, together
from accounting.metering.rules.samples.sample_counts import samples_note
from accounting.usage.pages import shapes
from accounting.usage.pages.spans import DAY, THREE_DAYS, SpanState
from accounting.usage.reads.intensity import with_intensity
from accounting.usage.reads.ledger import ledger_rows
from accounting.usage.reads.usage import usage_rows, usage_total
from accounting.usage.rules.rows import UsageRow

FINE_MS = DAY_MS  # up to this length measures are drawn by window, above by hour
SHOWN = 50  # rows in the table


@dataclass(frozen=True, slots=True)
class PaidStretch:
    """One pod on this GPU without a gap, over all its instances."""

    namespace: str
    pod: str
    uid: str
    team: TeamRef
    instances: tuple[int, ...]
    period: Interval
    row: UsageRow
    url: str = ""  # its workload, with its pods open; empty for pods without a team

    @property
    def since(self) -> str | None:
        """Its start, as a parameter of an explanation."""
        return instant(self.period.start_ms)

    @property
    def until(self) -> str | None:
        """Its end."""
        return instant(self.period.end_ms)


@page(ONE_GPU)
def gpu(request: HttpRequest, uuid: str) -> HttpResponse:
    """One GPU over at most three days of five-minute facts."""
    state = SpanState(request, (DAY, THREE_DAYS), longest_ms=THREE_DAYS.length_ms)
    period = state.shown
    selection = replace(state.selection(gpu=uuid), period=period)
    rows = gpu_rows(selection)
    if not rows:
        raise Http404("no such GPU in this range")
    teams = visible_teams(state.visitor.scope)
    events = gpu_events(selection, uuid)
    context = {
        "state": state,
        "gpu": line_of(rows[0], teams),
        "node_url": state.link(reverse("gpus"), q=rows[0].node),
        "row": rows[0],
        "period": period,
        "since": instant(period.start_ms),
        "until": instant(period.end_ms),
        "events": events,
        "hard": NOT_OBSERVED,
        "earned": None,
    }
    if period.length_ms:
        context |= _in_period(selection, period, uuid, teams, events, state)
    return render(request, "fleet/gpu.html", context)


def _in_period(  # metrics of its facts on the page
    selection: Selection,
    period: Interval,
    uuid: str,
    teams: Mapping[str, TeamRef],
    events: Sequence[GpuEvent],
    state: SpanState,
) -> dict[str, object]:
    step_ms = WINDOW_MS if period.length_ms <= FINE_MS else HOUR_MS
    steps = gpu_steps(selection, step_ms)
    ledger = next(iter(ledger_rows(selection, ("gpu",))), None)
    pods = usage_rows(selection, ("team", "workload", "pod"))
    by = ("gpu", "model")
    whole = list(with_intensity(usage_rows(selection, by), selection, by))
    held = held_stretches(selection)
    there = presences(selection, by_instance=True)
    places = minor_places(state.currency)
    paid = _paid(held, pods, selection, teams)
    urls = _workload_urls(pods, whole, state)
    shown = [replace(one, url=urls.get(one.uid, "")) for one in paid[:SHOWN]]
    return {
        "step": "hour" if step_ms == HOUR_MS else "window",
        "measures": small_charts.measures(steps, period, state),
        "hours": timelines.minutes_by_hour(steps, state) if steps else None,
        "capacity": shapes.capacity(ledger, period.length_ms, places)
        if ledger
        else None,
        "earned": earnings(pods, ledger, teams, places) if ledger else None,
        "lanes": lanes_of_gpu(
            GpuTime(held, there, events, profiles(uuid, period.end_ms)),
            *(teams, period, state),
        ),
        "stretches": shown,
        "stretch_count": len(paid),
        "has_instances": any(one.instances for one in paid),
        "hard": together(row.hard for row in whole),
        **_samples(steps),
    }


def _samples(steps: Sequence[GpuStep]) -> dict[str, object]:
    """The number of used and expected samples, and why they differ."""
    used = sum(one.samples_used for one in steps)
    expected = sum(one.samples_expected for one in steps)
    unknown_ms = sum(one.milliseconds["unknown"] for one in steps)
    note = samples_note(used, expected, unknown_ms)
    return {"used": used, "expected": expected, "samples_note": note}


def _workload_urls(
    pods: Sequence[UsageRow], whole: Sequence[UsageRow], state: SpanState
) -> dict[str, str]:
    """Addresses of workloads by the uid of their pods, for the shown days."""
    days = {"from": state.days.first.isoformat(), "to": state.days.after.isoformat()}
    models = [row.key["model"] for row in whole if row.key["model"]]
    found = {}
    for row in pods:
        key = row.key
        if key["team"] == UNMAPPED or not models:
            continue
        parts = (key["namespace"], key["workload_kind"], key["workload"], models[0])
        asked = {**days, "q": key["workload"], "open": "/".join(parts)}
        url = reverse("team-workloads", args=[key["team"]])
        found[key["uid"]] = f"{url}?{urlencode(asked)}#open"
    return found


def _paid(
    held: Sequence[HeldStretch],
    pods: Sequence[UsageRow],
    selection: Selection,
    teams: Mapping[str, TeamRef],
) -> list[PaidStretch]:
    """Holds by pod, newest first, each with the charge of its explanation.

    A pod with one hold in the period is charged the amount of its row; only for a pod with several
    holds the charge is queried for each, and only if it is shown.
    """
    merged = _by_pod(held)
    times = Counter(one[0].uid for one in merged)
    rows = {row.key["uid"]: row for row in pods if times[row.key["uid"]] == 1}
    found = []
    for i, parts in enumerate(merged):
        first = parts[0]
        period = Interval.of(first.start, max(part.end for part in parts))
        row = rows.get(first.uid)
        if row is None or row.key["team"] != first.team:
            row = _total(selection, first, period) if i < SHOWN else NOTHING
        found.append(
            PaidStretch(
                *(first.namespace, first.pod, first.uid, team_named(teams, first.team)),
                tuple(sorted({part.instance for part in parts} - {-1})),
                period,
                row,
            )
        )
    return found


NOTHING = UsageRow(0, 0, 0, {}, None, None, estimated=False)


def _total(selection: Selection, one: HeldStretch, period: Interval) -> UsageRow:
    filters = {"namespace": (one.namespace,), "pod": (one.pod,)}
    return usage_total(
        replace(selection, period=period, filters={**selection.filters, **filters})
    )


def _by_pod(held: Sequence[HeldStretch]) -> list[list[HeldStretch]]:
    """Holds of one pod and team that adjoin or overlap, over its instances, joined."""
    open_: dict[tuple[str, str], list[HeldStretch]] = {}
    done: list[list[HeldStretch]] = []
    for one in sorted(held, key=lambda one: (one.start, one.instance)):
        key = (one.uid, one.team)
        known = open_.get(key)
        if known is not None and max(part.end for part in known) >= one.start:
            known.append(one)
        else:
            open_[key] = [one]
            done.append(open_[key])
    return sorted(done, key=lambda parts: parts[0].start, reverse=True)
