"""Holders that are idle now, dearest first, and what people did about them (scheduling.md S37)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractUser
from django.db.models import Q
from django.utils import timezone

from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.access.reads.billing_settings import billing_day
from accounting.access.scope import Scope
from accounting.core.interval import to_instant
from accounting.core.money_text import gpus_text
from accounting.core.unmapped import UNMAPPED
from accounting.kit.rows import (
    GpuHours,
    Moment,
    MsInstant,
    TextOrNull,
    column,
    listed,
    member,
)
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod, PodHold
from accounting.metering.rules.inventory.families import family_of
from accounting.metering.rules.inventory.label_names import label_name
from accounting.prices.rules.charge import charge_of
from scheduler_view.idle.models import IdleAct, IdleHold, IdleLook, IdleNote
from scheduler_view.idle.rules import owner_of, stop_command
from scheduler_view.savings.reads.work import last_labels
from scheduler_view.savings.rules.idle import MINUTE_MS
from scheduler_view.waits.models import WaitRecord

Work = tuple[int, int, int]  # cluster, workload, pod if it has no workload
Key = tuple[Work, int]  # and team


@listed("IdleHolder", detail="One of them, also if it is ignored.")
class IdleRow:
    """A workload, or a pod without one, that holds GPUs and is idle now.

    Attributes:
        id: the same as long as it stays idle.
        pods: idle ones.
        gpus: share-weighted; `per_hour` is what they cost, None without a price.
        since_ms: begin of its first idle window.
        idle_ms: idle windows since then, by the clock: unknown ones are left out.
        gpu_ms, amount: idle time of the ledger since then, and its cost; None without a price.
        owner: as a label of its pods says.
        asked_at, asked_by, asked_to: the last message about this idle time.
        ignored_until: the last day on which it is not listed.
        queued_unit: the number of its page as waiting work: others of its pods wait, so that these
            may only wait for them. None if none waits.
    """

    id: int = column()
    cluster: str = column()
    team: str = column("`unmapped` without a team")
    namespace: str = column()
    kind: TextOrNull = column(name="workload_kind")
    name: str = column(name="workload", head="Holder")
    family: str = column("of runs of the same work")
    pods: int = column()
    model: str = column()
    gpus: Decimal = column(head="GPUs")
    since_ms: MsInstant = column(name="idle_since")
    until_ms: MsInstant = column(name="observed_until")
    idle_ms: int = column("milliseconds")
    gpu_ms: GpuHours = column(name="idle_gpu_hours")
    amount: Decimal | None = column()
    per_hour: Decimal | None = column()
    currency: TextOrNull = column()
    owner: TextOrNull = column()
    asked_at: Moment | None = column(default=None)
    asked_by: TextOrNull = column(default="")
    asked_to: TextOrNull = column(default="")
    ignored_until: date | None = column(is_detail=True, default=None)
    team_name: str
    team_slot: int
    team_id: int
    raw: Decimal
    unpriced_ms: int
    key: Key
    queued_unit: int | None = None

    @member()
    def command(self) -> str:
        """What would free its GPUs; GPU Ledger never runs it."""
        return stop_command(self.kind, self.namespace, self.name)

    @property
    def gpus_text(self) -> str:
        """`8`, or `0.25` of a shared GPU."""
        return gpus_text(self.gpus)


def idle_rows(
    scope: Scope,
    *,
    least_minutes: int = 0,
    team: int | None = None,
    at: datetime | None = None,
) -> list[IdleRow]:
    """Holders that a scope may act on and nobody ignores now, dearest first.

    Args:
        least_minutes: idle for so long.
        team: only its holders; of all teams without it.
        at: the moment; now without it.
    """
    return not_ignored(every_holder(scope, at, team), least_minutes)


def not_ignored(rows: Iterable[IdleRow], least_minutes: int) -> list[IdleRow]:
    """Those that are listed, dearest first."""
    shown = [
        row
        for row in rows
        if row.idle_ms >= least_minutes * MINUTE_MS and not row.ignored_until
    ]
    return sorted(shown, key=lambda row: (-row.raw, -row.gpu_ms, row.name, row.id))


def idle_row(scope: Scope, number: int) -> IdleRow | None:
    """One of them, also if it is ignored."""
    return next((row for row in every_holder(scope) if row.id == number), None)


class _HeldUnits(NamedTuple):
    """An idle hold with the names of what holds; no models, a page reads hundreds."""

    pk: int
    cluster_id: int
    workload_id: int | None
    pod_id: int
    team_id: int | None
    cluster: str
    team: str | None
    team_name: str | None
    team_slot: int | None
    namespace: str
    kind: str | None
    workload: str | None
    family: str | None
    pod: str
    model: str
    gpus: Decimal
    since_ms: int
    until_ms: int
    idle_ms: int
    gpu_ms: int
    raw: Decimal
    unpriced_ms: int
    rate: Decimal | None
    currency: str
    owner: str


_COLUMNS = (
    *("pk", "cluster_id", "pod__workload_id", "pod_id", "team_id", "cluster__name"),
    *("team__slug", "team__name", "team__colour_slot", "pod__namespace__name"),
    *("pod__workload__kind", "pod__workload__name", "pod__workload__family"),
    *("pod__name", "model", "gpus"),
    *("since_ms", "until_ms", "idle_ms", "gpu_ms", "raw", "unpriced_ms", "rate"),
    *("currency", "owner"),
)


def every_holder(
    scope: Scope, at: datetime | None = None, team: int | None = None
) -> list[IdleRow]:
    """All idle holders, ignored ones too: of all teams, of one, or of those that a person leads."""
    holds = IdleHold.objects.order_by("pk")
    if not scope.sees_all:
        holds = holds.filter(team__in=scope.lead_of)
    if team is not None:
        holds = holds.filter(team=team)
    grouped: dict[Key, list[_HeldUnits]] = defaultdict(list)
    for hold in map(_HeldUnits._make, holds.values_list(*_COLUMNS)):
        workload = hold.workload_id or 0
        work = hold.cluster_id, workload, 0 if workload else hold.pod_id
        grouped[work, hold.team_id or 0].append(hold)
    rows = [_holder(key, of) for key, of in grouped.items()]
    return _noted(rows, at or timezone.now())


def _holder(key: Key, holds: Sequence[_HeldUnits]) -> IdleRow:
    first = holds[0]
    currencies = {hold.currency for hold in holds if hold.currency}
    is_one = len(currencies) <= 1
    raw = sum((hold.raw for hold in holds), Decimal(0)) if is_one else Decimal(0)
    rates = [hold.rate for hold in holds]
    known = [rate for rate in rates if rate is not None]
    return IdleRow(
        id=first.pk,
        cluster=first.cluster,
        team=first.team or UNMAPPED,
        team_name=first.team_name or "No team",
        team_slot=first.team_slot or 0,
        team_id=first.team_id or 0,
        namespace=first.namespace,
        kind=first.kind or "",
        name=first.workload or first.pod,
        family=first.family or family_of(first.pod, "Pod"),
        pods=len(holds),
        model=", ".join(sorted({hold.model for hold in holds})),
        gpus=sum((hold.gpus for hold in holds), Decimal(0)),
        since_ms=min(hold.since_ms for hold in holds),
        until_ms=max(hold.until_ms for hold in holds),
        idle_ms=max(hold.idle_ms for hold in holds),
        gpu_ms=sum(hold.gpu_ms for hold in holds),
        raw=raw,
        unpriced_ms=sum(hold.unpriced_ms for hold in holds),
        amount=charge_of(raw) if is_one and currencies else None,
        per_hour=sum(known, Decimal(0))
        if is_one and currencies and len(known) == len(rates)
        else None,
        currency=next(iter(currencies)) if is_one and currencies else "",
        owner=", ".join(sorted({hold.owner for hold in holds if hold.owner})),
        key=key,
    )


def _notes(keys: Iterable[Key]) -> Mapping[Key, Sequence[IdleNote]]:
    """What was done about holders, newest first."""
    works = [work for work, _ in keys]
    found: dict[Key, list[IdleNote]] = defaultdict(list)
    if works:
        of_works = Q(workload__in={workload for _, workload, _ in works})
        of_pods = Q(pod__in={pod for _, _, pod in works if pod})
        for note in IdleNote.objects.filter(of_works | of_pods).select_related("by"):
            found[_key(note)].append(note)
    return found


def _key(note: IdleNote) -> Key:
    work = note.cluster_id, note.workload_id or 0, note.pod_id or 0
    return work, note.team_id or 0


def _noted(rows: Sequence[IdleRow], at: datetime) -> list[IdleRow]:
    """Rows with who asked about this idle time last, until when they are ignored, and waits."""
    today, notes = billing_day(at), _notes(row.key for row in rows)
    queued = _queued_units(rows)
    return [
        replace(
            row,
            queued_unit=queued.get(_unit(row)),
            **_asked(row, notes[row.key]),
            **_ignored(notes[row.key], today),
        )
        if row.key in notes or _unit(row) in queued
        else row
        for row in rows
    ]


def _unit(row: IdleRow) -> tuple[str, str, str, str]:
    return row.cluster, row.kind or "Pod", row.namespace, row.name


def _queued_units(
    rows: Sequence[IdleRow],
) -> Mapping[tuple[str, str, str, str], int]:
    """The pages of holders of which some pods wait."""
    if not rows:
        return {}
    waits = WaitRecord.objects.filter(
        ended_at=None, name__in={row.name for row in rows}
    )
    columns = ("cluster__name", "kind", "namespace", "name", "pk")
    found = waits.exclude(stage="").values_list(*columns)
    return {
        (cluster, kind, place, name): pk for cluster, kind, place, name, pk in found
    }


def _asked(row: IdleRow, notes: Iterable[IdleNote]) -> dict[str, Any]:
    for note in notes:
        if note.act == IdleAct.ASKED and note.since_ms >= row.since_ms:
            return {
                "asked_at": note.at,
                "asked_by": _name_of(note.by),
                "asked_to": note.to,
            }
    return {}


def _ignored(notes: Iterable[IdleNote], today: date) -> dict[str, Any]:
    days = [note.until for note in notes if note.act == IdleAct.IGNORED and note.until]
    return {"ignored_until": days[0]} if days and days[0] >= today else {}


def _name_of(user: AbstractUser) -> str:
    return user.get_full_name() or user.get_username()


@dataclass(frozen=True, slots=True)
class IdleSum:
    """All of the rows of a page.

    Attributes:
        unpriced: holders without an amount.
        amount, per_hour: None if their currencies differ or none has a price.
    """

    holders: int
    unpriced: int
    gpus: Decimal
    amount: Decimal | None
    per_hour: Decimal | None
    currency: str

    @property
    def gpus_text(self) -> str:
        """`8`, or `0.25` of a shared GPU."""
        return gpus_text(self.gpus)


def summed(rows: Collection[IdleRow]) -> IdleSum:
    """The sums of rows; amounts of those with a price."""
    currencies = {row.currency for row in rows if row.currency}
    currency = next(iter(currencies)) if len(currencies) == 1 else ""
    raw = sum((row.raw for row in rows), Decimal(0))
    hourly = sum((row.per_hour or Decimal(0) for row in rows), Decimal(0))
    return IdleSum(
        len(rows),
        sum(row.amount is None for row in rows),
        sum((row.gpus for row in rows), Decimal(0)),
        charge_of(raw) if currency else None,
        hourly if currency else None,
        currency,
    )


@dataclass(frozen=True, slots=True)
class NoteRow:
    """What a person did about a holder, and what became of it."""

    note: IdleNote
    name: str
    by: str
    outcome: str


def note_rows(
    scope: Scope, holders: Iterable[IdleRow], most: int = 50
) -> list[NoteRow]:
    """The newest ones, of all teams or of those that a person leads.

    Args:
        holders: `every_holder` of the same scope.
    """
    notes = IdleNote.objects.select_related("by", "team", "workload", "pod")
    if not scope.sees_all:
        notes = notes.filter(team__in=scope.lead_of)
    found = [*notes[:most]]
    idle = {row.key: row.since_ms for row in holders}
    held = _held(found)
    return [
        NoteRow(
            note,
            (note.workload or note.pod).name,  # type: ignore[union-attr]  # one of them is there
            _name_of(note.by),
            _outcome(note, idle.get(_key(note)), is_held=_key(note)[0] in held),
        )
        for note in found
    ]


def _outcome(note: IdleNote, since_ms: int | None, *, is_held: bool) -> str:
    if since_ms is not None and since_ms <= note.since_ms:
        return "Still idle"
    if since_ms is not None:
        return "Worked, and is idle again"
    return "Works again" if is_held else "Its GPUs are released"


def _held(notes: Sequence[IdleNote]) -> set[Work]:
    """Work of notes that holds GPUs now."""
    if not notes:
        return set()
    of_works = Q(pod__workload__in={note.workload_id for note in notes})
    of_pods = Q(pod__in={note.pod_id for note in notes})
    held = PodHold.objects.filter(of_works | of_pods, ended_ms=None)
    found: set[Work] = set()
    for cluster, workload, pod in held.values_list(
        "pod__cluster_id", "pod__workload_id", "pod_id"
    ):
        found |= {(cluster, workload or 0, 0), (cluster, 0, pod)}
    return found


def looked_until() -> dict[str, datetime | None]:
    """Up to when each cluster's idle holds are found; None for one that was never looked at."""
    until = dict(IdleLook.objects.values_list("cluster_id", "until_ms"))
    return {
        name: to_instant(until[pk]) if pk in until else None
        for pk, name in Cluster.objects.order_by("name").values_list("pk", "name")
    }


def owner_labels() -> list[str]:
    """The configured labels of owners as samples name them, first choice first."""
    spelled = LabelSpelling.objects.filter(purpose=LabelPurpose.OWNER)
    return [label_name(label) for label in spelled.values_list("label", flat=True)]


def owner_of_work(workloads: Iterable[int]) -> str:
    """As the labels of the newest pod of some workloads say; "" without one."""
    pods = Pod.objects.filter(workload__in=list(workloads)).order_by("-pk")
    record = pods.values_list("record", flat=True).first()
    return "" if record is None else owner_of(last_labels(record), owner_labels())
