"""Usage by GPU and node as one SELECT over rollups and, where needed, facts (N32)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from accounting.core.interval import Interval
from accounting.kit.reads.selection import Selection, SelectionError
from accounting.metering.models.cluster import Gpu
from accounting.prices.sql.charge_sql import GPU_COLUMNS, parameters
from accounting.usage.reads.relation.gpu_rollups import (
    Grain,
    Piece,
    complete_from,
    pending,
    split,
    stored_part,
)
from accounting.usage.reads.relation.retained_range import kept_facts
from accounting.usage.reads.relation.row_limit import check_rows
from accounting.usage.reads.relation.stored_columns import Column

_OF_GPUS = "(%(gpus)s::bigint[] IS NULL OR gpu_id = ANY(%(gpus)s))"
_PARAMETER = re.compile(r"%\((\w+)\)s")


def rows_by_gpu(
    selection: Selection, column: Column, *, by_hour: bool = False
) -> tuple[str, dict[str, Any]]:
    """A SELECT with the columns of a rollup, `gpu_id` and `node_id`, and its parameters.

    Facts are read where hours or days by GPU are not written yet but the facts are still kept,
    for example after an upgrade.

    Args:
        selection: its period, clusters and GPUs are applied; the caller applies other filters.
        column: the ledger column that is summed.
        by_hour: include `hour_start`.

    Raises:
        SelectionError: part of the period is not kept by GPU.
    """
    names = ("cluster_id", *column.columns, *GPU_COLUMNS)
    listed = ", ".join(("hour_start", *names) if by_hour else names)
    ids = gpu_ids(selection)
    pieces = _answering(selection, by_hour=by_hour)
    check_rows(selection, pieces)
    found = [
        _numbered(n, *_piece(piece, column, listed, ids, gap))
        for n, (piece, gap) in enumerate(_with_ends_together(pieces))
    ]
    if not found:
        return f"SELECT {listed} FROM {column.name}_gpu_hour WHERE false", {}
    values = {key: value for _, some in found for key, value in some.items()}
    return " UNION ALL ".join(f"({text})" for text, _ in found), values


def gpu_ids(selection: Selection) -> list[int] | None:
    """The ids of the selected GPUs, to read only their rows; None for all."""
    uuids = selection.filters.get("gpu")
    if uuids is None:
        return None
    return list(Gpu.objects.filter(uuid__in=uuids).values_list("pk", flat=True))


def _answering(selection: Selection, *, by_hour: bool) -> Sequence[Piece]:
    """The pieces that a selection is read from, or one piece of facts for all of it.

    Raises:
        SelectionError: part of the period is kept neither by GPU nor as facts.
    """
    clusters = selection.filters.get("cluster")
    is_open = selection.period is None or selection.period.start_ms == 0
    period = stored_part(selection.period, clusters)
    pieces = split(period, by_hour=by_hour, waiting=pending(period, clusters))
    facts = kept_facts(period, clusters)
    if facts.has_expired:
        _check_facts(pieces, clusters)
    for grain in (Grain.HOURS, Grain.DAYS):
        since = _complete_from(pieces, grain, clusters, is_open=is_open)
        if since is None:
            continue
        if facts.has_expired or facts.period is None:
            wider = "for whole days, " if grain is Grain.HOURS else ""
            raise SelectionError(
                f"{grain.value} before {since:%Y-%m-%d} are not kept; select a later range, "
                f"{wider}or without gpu and node",
                parameter="from",
            )
        both = period.intersection(facts.period) or Interval(0, 0)
        return [Piece(Grain.FACTS, both.start, both.end)]
    return pieces


def _check_facts(pieces: Sequence[Piece], clusters: Sequence[str] | None) -> None:
    for piece in pieces:
        if piece.grain is not Grain.FACTS:
            continue
        if kept_facts(Interval.of(piece.start, piece.end), clusters).has_expired:
            raise SelectionError(
                "five-minute facts of one end of the range have expired; select whole "
                "hours or days",
                parameter="from",
            )


def _complete_from(
    pieces: Sequence[Piece],
    grain: Grain,
    clusters: Sequence[str] | None,
    *,
    is_open: bool,
) -> date | None:
    """The first day from which the pieces of a grain are complete; None if all of them are."""
    of_grain = [piece for piece in pieces if piece.grain is grain]
    if not of_grain:
        return None
    around = Piece(
        grain,
        of_grain[0].start,
        of_grain[-1].end,
        of_grain[0].first,
        of_grain[-1].after,
    )
    if complete_from(around, clusters, is_open=is_open) is None:
        return None  # usually one query; the gaps between the pieces may be incomplete
    since = (complete_from(piece, clusters, is_open=is_open) for piece in of_grain)
    return max((day for day in since if day is not None), default=None)


Gap = tuple[datetime, datetime]


def _with_ends_together(pieces: Sequence[Piece]) -> list[tuple[Piece, Gap | None]]:
    """Pieces with a gap in each: facts of both ends of a range are one, without what is between."""
    facts = [piece for piece in pieces if piece.grain is Grain.FACTS]
    found: list[tuple[Piece, Gap | None]] = [
        (piece, None) for piece in pieces if piece.grain is not Grain.FACTS
    ]
    for first, last in zip(facts[::2], facts[1::2], strict=False):
        both = replace(first, end=last.end)
        found.append((both, (first.end, last.start)))
    alone = facts[-1:] if len(facts) % 2 else []
    return [*found, *((piece, None) for piece in alone)]


def _piece(
    piece: Piece, column: Column, listed: str, ids: list[int] | None, gap: Gap | None
) -> tuple[str, dict[str, Any]]:
    """A SELECT of one piece, and its parameters."""
    if piece.grain is Grain.FACTS:
        facts = column.facts(GPU_COLUMNS)
        values = parameters(None, piece.start, piece.end, ids, gap=gap)
        return f"SELECT {listed} FROM ({facts}) f", values
    where = f"billing_on >= %(first)s AND billing_on < %(after)s AND {_OF_GPUS}"
    values = {"first": piece.first, "after": piece.after, "gpus": ids}
    if piece.grain is Grain.DAYS:
        return f"SELECT {listed} FROM {column.name}_gpu_day WHERE {where}", values
    return (
        f"""SELECT {listed} FROM {column.name}_gpu_hour
            WHERE hour_start >= %(start)s AND hour_start < %(end)s AND {where}""",
        values | {"start": piece.start, "end": piece.end},
    )


def _numbered(n: int, text: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The same text and values with unique parameter names: two pieces may both have `start`."""
    return (
        _PARAMETER.sub(rf"%(\1_{n})s", text),
        {f"{key}_{n}": value for key, value in values.items()},
    )
