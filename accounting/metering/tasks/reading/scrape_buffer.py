"""The buffer of sources that cannot be queried again (docs/decisions/0006).

Samples of scrapes and files are stored by hour, unchanged, as long as the facts of their time:
so a late sample can still change its windows.
"""

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from operator import itemgetter

import msgspec
import numpy as np
from django.db import connection, transaction
from django.db.models import QuerySet, Sum
from psycopg.types.json import Jsonb

from accounting.core.interval import HOUR_MS, Interval, to_instant, to_ms
from accounting.core.recent import Recent
from accounting.metering.models.cluster import Source
from accounting.metering.models.ledger import BufferBlock, BufferSeries
from accounting.metering.rules.samples.series import Reading
from accounting.metering.sources.exposition import RawSeries
from accounting.metering.sources.samples import SampleBatch, build_reading
from accounting.metering.tasks import bulk_copy, database_cache

Scope = tuple[str, int]  # database, source
CACHED = 10_000  # series of a source, or as many as are used at once
_ids: dict[Scope, Recent[RawSeries, int]] = database_cache.register({})
_raw: dict[Scope, Recent[int, RawSeries]] = database_cache.register({})


def append(source: Source, batch: SampleBatch) -> int:
    """Store a batch; returns how many samples were new (0 if it was stored before)."""
    if not len(batch.ids):
        return 0
    used = np.unique(batch.ids)
    ids = _series_ids(source, [batch.series[i] for i in used.tolist()])
    table = np.zeros(int(used.max()) + 1, np.int64)
    table[used] = ids
    hours = batch.times - batch.times % HOUR_MS
    new = 0
    for hour in np.unique(hours).tolist():
        chosen = hours == hour
        new += _append_hour(
            source,
            hour,
            table[batch.ids[chosen]],
            batch.times[chosen],
            batch.values[chosen],
        )
    return new


def _append_hour(
    source: Source,
    hour_ms: int,
    ids: "np.ndarray",
    times: "np.ndarray",
    values: "np.ndarray",
) -> int:
    order = np.lexsort((values, times, ids))
    columns = (
        np.diff(ids[order].astype("<i8"), prepend=0).tobytes(),
        np.diff(times[order].astype("<i8"), prepend=hour_ms).tobytes(),
        values[order].astype("<f8").tobytes(),
    )
    digest = hashlib.sha256(b"".join(columns)).digest()
    packed = [zlib.compress(column, 1) for column in columns]
    head = np.array([len(ids), *map(len, packed)], "<i8").tobytes()
    _, created = BufferBlock.objects.get_or_create(
        source=source,
        hour_start=to_instant(hour_ms),
        content_hash=digest,
        defaults={
            "first_ms": int(times.min()),
            "last_ms": int(times.max()),
            "samples": len(ids),
            "payload": head + b"".join(packed),
        },
    )
    if created:
        _unfold_around(source, hour_ms)
    return len(ids) if created else 0


def _unfold_around(source: Source, hour_ms: int) -> None:
    """Samples of an hour can change the meaning of those around it, mainly their step (N4)."""
    BufferBlock.objects.filter(
        source__cluster=source.cluster_id,
        hour_start__gte=to_instant(hour_ms - HOUR_MS),
        hour_start__lte=to_instant(hour_ms + HOUR_MS),
        folded_as__isnull=False,
    ).update(folded_as=None)


def unfold(cluster_id: int, periods: Iterable[Interval]) -> None:
    """Mark samples of some periods as not merged: their evidence was removed or is out of date.

    In the transaction that found so, under the cluster's `evidence` lock.
    """
    for period in periods:
        BufferBlock.objects.filter(
            source__cluster=cluster_id,
            hour_start__gte=to_instant(period.start_ms - period.start_ms % HOUR_MS),
            hour_start__lt=period.end,
            first_ms__lt=period.end_ms,
            last_ms__gte=period.start_ms,
            folded_as__isnull=False,
        ).update(folded_as=None)


def _blocks(source: Source, period: Interval) -> QuerySet[BufferBlock]:
    start = to_instant(period.start_ms - period.start_ms % HOUR_MS)
    return BufferBlock.objects.filter(
        source=source,
        hour_start__gte=start,
        hour_start__lt=period.end,
        first_ms__lt=period.end_ms,
        last_ms__gte=period.start_ms,
    )


def inside(source: Source, period: Interval) -> list[int]:
    """The ids of a source's blocks that are completely in a period; a block never changes."""
    found = _blocks(source, period).filter(
        first_ms__gte=period.start_ms, last_ms__lt=period.end_ms
    )
    return list(found.values_list("pk", flat=True))


def note_folded(source: Source, ids: Sequence[int], folded_as: bytes) -> None:
    """Mark blocks as merged, in the transaction that merged them."""
    BufferBlock.objects.filter(source=source, pk__in=ids).update(folded_as=folded_as)


def are_folded(source: Source, period: Interval, folded_as: bytes) -> bool:
    """True if all samples of a period are merged, and in the same way as now."""
    return not _blocks(source, period).exclude(folded_as=folded_as).exists()


def samples_by_hour(source: Source, period: Interval) -> dict[int, int]:
    """The number of samples in the blocks of a period, by the hour's start in ms."""
    counts = _blocks(source, period).values_list("hour_start").annotate(Sum("samples"))
    return {to_ms(hour): count for hour, count in counts}


def read(source: Source, period: Interval) -> Reading:
    """Every buffered sample of a source in a period, as series."""
    blocks = _blocks(source, period).values_list("hour_start", "payload")
    parts = [_unpack(bytes(payload), hour) for hour, payload in blocks]
    if not parts:
        empty = np.empty(0, np.int64)
        return build_reading(
            SampleBatch([], empty.astype(np.int32), empty, empty.astype(float)),
            scales={},
        )
    ids = np.concatenate([part[0] for part in parts])
    times = np.concatenate([part[1] for part in parts])
    values = np.concatenate([part[2] for part in parts])
    inside = (times >= period.start_ms) & (times < period.end_ms)
    ids, times, values = ids[inside], times[inside], values[inside]
    used, local = np.unique(ids, return_inverse=True)
    batch = SampleBatch(
        _raw_series(source, used.tolist()), local.astype(np.int32), times, values
    )
    interval = None if source.interval_s is None else source.interval_s * 1000
    return build_reading(batch, scales=source.scales, interval_ms=interval)


def _unpack(
    payload: bytes, hour: datetime
) -> tuple["np.ndarray", "np.ndarray", "np.ndarray"]:
    head = np.frombuffer(payload[:32], "<i8").tolist()
    columns: list[bytes] = []
    position = 32
    for length in head[1:]:
        columns.append(zlib.decompress(payload[position : position + length]))
        position += length
    hour_ms = int(hour.timestamp() * 1000)
    ids = np.cumsum(np.frombuffer(columns[0], "<i8"))
    times = np.cumsum(np.frombuffer(columns[1], "<i8")) + hour_ms
    return ids, times, np.frombuffer(columns[2], "<f8").astype(np.float64)


def _scope(source: Source) -> Scope:
    return str(connection.settings_dict["NAME"]), source.pk


def _series_ids(source: Source, wanted: Sequence[RawSeries]) -> list[int]:
    """Row ids of series, created if missing; cached in the process."""
    database_cache.refresh()
    known = _ids.setdefault(_scope(source), Recent(CACHED))
    known.begin(len(wanted))
    found = {raw: pk for raw in wanted if (pk := known.get(raw, None)) is not None}
    missing = [raw for raw in wanted if raw not in found]
    if missing:
        added = _stored(source, missing)
        found |= added
        raws = _raw.setdefault(_scope(source), Recent(CACHED))
        for raw, pk in added.items():
            known[raw], raws[pk] = pk, raw
    return [found[raw] for raw in wanted]


def _stored(source: Source, wanted: Sequence[RawSeries]) -> dict[RawSeries, int]:
    """The row ids of series that are created unless another process has done so."""
    digests = {raw: _digest(raw) for raw in wanted}
    rows = {digest: raw for raw, digest in digests.items()}
    with transaction.atomic():
        bulk_copy.merge(
            BufferSeries,
            ["source", "digest", "name", "labels"],
            [
                (source.pk, digest, raw.name, Jsonb(raw.labels))
                for digest, raw in sorted(rows.items(), key=itemgetter(0))
            ],
            key=["source", "digest"],
            update=[],
        )
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT digest, id FROM accounting_bufferseries
               WHERE source_id = %s AND digest = ANY(%s)""",
            [source.pk, list(rows)],
        )
        ids = {bytes(digest): pk for digest, pk in cursor.fetchall()}
    return {raw: ids[digest] for raw, digest in digests.items()}


def _digest(raw: RawSeries) -> bytes:
    return hashlib.sha256(msgspec.json.encode((raw.name, sorted(raw.labels)))).digest()


def _raw_series(source: Source, ids: Sequence[int]) -> list[RawSeries]:
    database_cache.refresh()
    known = _raw.setdefault(_scope(source), Recent(CACHED))
    known.begin(len(ids))
    found = {pk: raw for pk in ids if (raw := known.get(pk, None)) is not None}
    missing = [pk for pk in ids if pk not in found]
    for start in range(0, len(missing), 10_000):
        rows = BufferSeries.objects.filter(pk__in=missing[start : start + 10_000])
        for pk, name, labels in rows.values_list("pk", "name", "labels"):
            raw = RawSeries(name, tuple((key, value) for key, value in labels))
            found[pk] = known[pk] = raw
    return [found[pk] for pk in ids]


def forget(before: datetime) -> int:
    """Drop blocks of hours that ended before an instant; returns how many."""
    old = BufferBlock.objects.filter(hour_start__lt=before - timedelta(hours=1))
    return old.delete()[0]
