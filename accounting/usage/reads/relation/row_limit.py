"""The number of rows by GPU that a report reads, and the limit for requests.

The number is computed before reading: GPUs times five-minute windows, hours or days.
"""

from collections.abc import Iterable
from datetime import timedelta

from accounting.core.interval import WINDOW_MS
from accounting.kit.reads.selection import Selection, SelectionError
from accounting.metering.models.cluster import Gpu
from accounting.usage.reads.relation.gpu_rollups import Grain, Piece

_STEP = {
    Grain.FACTS: timedelta(milliseconds=WINDOW_MS),
    Grain.HOURS: timedelta(hours=1),
    Grain.DAYS: timedelta(days=1),
}


class TooManyRowsError(SelectionError):
    """A request would read too many rows; the message names the alternatives."""


def check_rows(selection: Selection, pieces: Iterable[Piece]) -> None:
    """Refuse a report that would read too many rows.

    Args:
        selection: its clusters, GPUs and limit.
        pieces: the pieces that it reads; pieces of facts only within the kept facts.

    Raises:
        TooManyRowsError: there are more than `selection.most_rows`.
    """
    if selection.most_rows is None:
        return
    steps = sum(-((p.start - p.end) // _STEP[p.grain]) for p in pieces)
    rows = _gpus(selection) * steps
    if rows > selection.most_rows:
        raise TooManyRowsError(
            f"this report reads about {rows:,} rows by GPU; the limit is "
            f"{selection.most_rows:,}. Select a shorter range, whole days or fewer GPUs, or "
            "export it with 'manage.py report', which has no limit",
            parameter="from",
        )


def _gpus(selection: Selection) -> int:
    """GPUs whose rows are read: the selected ones, or all of the clusters."""
    gpus = Gpu.objects.all()
    for name, column in (("cluster", "cluster__name"), ("gpu", "uuid")):
        if name in selection.filters:
            gpus = gpus.filter(**{f"{column}__in": selection.filters[name]})
    return gpus.count()
