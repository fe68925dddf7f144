"""Imports files: kept (`metering/tasks/imports.py`), attributed, rolled up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from accounting.kit.audit import Actor
from accounting.metering.sources.intervals import Sampler
from accounting.metering.tasks.imports import Progress, keep_files, name_unknown
from accounting.usage.tasks.catch_up import catch_up


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    samples: int
    new_samples: int
    windows: int
    rows_written: int
    hours: int
    waiting: int  # windows that wait for another source
    unknown_names: tuple[str, ...]
    interval_s: int | None  # declared, now or before (rules.md N4)
    intervals: Mapping[Sampler, int | None]  # in ms, derived from the samples
    skipped: int = 0  # left out: their time is in the future


def import_files(
    cluster_name: str,
    paths: Sequence[Path],
    *,
    actor: Actor,
    is_new: bool = False,
    interval_s: int | None = None,
    skips_future: bool = False,
    on_progress: Progress | None = None,
) -> Imported:
    """Import OpenMetrics or timestamped Prometheus text, and compute due windows.

    Arguments and errors are those of `keep_files`.
    """
    kept = keep_files(
        cluster_name,
        paths,
        actor=actor,
        is_new=is_new,
        interval_s=interval_s,
        skips_future=skips_future,
        on_progress=on_progress,
    )
    done = catch_up(kept.cluster, on_progress=on_progress)
    name_unknown(kept.cluster, kept.unknown, kept.period)  # its windows exist now
    return Imported(
        samples=kept.samples,
        new_samples=kept.new_samples,
        windows=done.ingested.windows,
        rows_written=done.ingested.rows_written,
        hours=done.hours,
        waiting=done.left.due + done.left.failed,
        unknown_names=tuple(sorted(kept.unknown.nodes)),
        interval_s=kept.source.interval_s,
        intervals=kept.intervals,
        skipped=kept.skipped,
    )
