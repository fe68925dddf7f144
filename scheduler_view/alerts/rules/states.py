"""What becomes of an alert: new, worse, back again, ongoing, archived, resolved (alerts.md)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

NEW_FOR = timedelta(days=1)  # then it is ongoing, unless its figure has grown by half
AGAIN_WITHIN = timedelta(days=30)  # of being resolved; later it is new
GROWS = Decimal("1.5")  # by half: it is worse, and leaves the archive
HOTTER_C = Decimal(5)  # the same for a temperature, which has no half: R11's step


class AlertMark(StrEnum):
    """Why an alert asks for attention."""

    NEW = "new"
    WORSE = "worse"
    AGAIN = "again"


class FigureUnit(StrEnum):
    """What a figure counts that is not money; that of money is its currency."""

    GPU_MS = "gpu_ms"
    MS = "ms"
    GPU_HOURS = "gpu_hours"
    BYTES = "bytes"
    CELSIUS = "celsius"
    ERRORS = "errors"


class AlertState(StrEnum):
    """What a page says of an alert."""

    NEW = "new"
    WORSE = "worse"
    AGAIN = "again"
    ONGOING = "ongoing"
    ARCHIVED = "archived"
    RESOLVED = "resolved"


class Resolution(StrEnum):
    """Why an alert is resolved."""

    GONE = "gone"  # what it is about is over
    THRESHOLD = "threshold"  # below a threshold that a person has changed
    OFF = "off"  # the rule is switched off


@dataclass(frozen=True, slots=True)
class AlertStanding:
    """What is stored of the state of one alert.

    Attributes:
        marked_at, marked_figure: when it last asked for attention, and its figure then.
        unit: of its figures: a currency, or a `FigureUnit`.
        times: how often it has fired.
        archived_figure: its figure when a person archived it; None if it is not archived.
        resolved_at, resolution: None and "" while it lasts.
    """

    mark: AlertMark
    marked_at: datetime
    marked_figure: Decimal
    unit: str
    times: int = 1
    archived_figure: Decimal | None = None
    resolved_at: datetime | None = None
    resolution: str = ""


def has_grown(figure: Decimal, since: Decimal, unit: str) -> bool:
    """Whether a figure is larger by half, or above nothing; a temperature, by 5 °C."""
    if unit == FigureUnit.CELSIUS:
        return figure >= since + HOTTER_C
    return figure > 0 and figure >= since * GROWS


def _in_unit(before: AlertStanding, figure: Decimal, unit: str) -> AlertStanding:
    """What is stored, in the unit of a figure: in another one, it counts from that figure on."""
    if before.unit == unit:
        return before
    return replace(
        before,
        unit=unit,
        marked_figure=figure,
        archived_figure=None if before.archived_figure is None else figure,
    )


def after_found(
    before: AlertStanding | None, figure: Decimal, unit: str, at: datetime
) -> AlertStanding:
    """The state of an alert whose cause is found.

    Args:
        before: what is stored; None if it never fired.
        figure, unit: what grows: its money, or how long it lasts.
        at: when it was looked for.
    """
    if before is None:
        return AlertStanding(AlertMark.NEW, at, figure, unit)
    before = _in_unit(before, figure, unit)
    if before.resolved_at is not None:
        is_again = at - before.resolved_at <= AGAIN_WITHIN
        before = replace(
            before,
            mark=AlertMark.AGAIN if is_again else AlertMark.NEW,
            marked_at=at,
            marked_figure=figure,
            times=before.times + 1,
            archived_figure=before.archived_figure if is_again else None,
            resolved_at=None,
            resolution="",
        )
    archived = before.archived_figure
    is_worse = (
        has_grown(figure, archived, unit)
        if archived is not None
        else at - before.marked_at >= NEW_FOR
        and has_grown(figure, before.marked_figure, unit)
    )
    if not is_worse:
        return before
    return replace(
        before,
        mark=AlertMark.WORSE,
        marked_at=at,
        marked_figure=figure,
        archived_figure=None,
    )


def after_gone(
    before: AlertStanding, resolution: Resolution, at: datetime
) -> AlertStanding:
    """The state of an alert whose cause is not found any more."""
    if before.resolved_at is not None:
        return before
    return replace(before, resolved_at=at, resolution=resolution)


def state_of(one: AlertStanding, at: datetime) -> AlertState:
    """What a page says at a moment."""
    if one.resolved_at is not None:
        return AlertState.RESOLVED
    if one.archived_figure is not None:
        return AlertState.ARCHIVED
    is_recent = at - one.marked_at < NEW_FOR
    return AlertState(one.mark) if is_recent else AlertState.ONGOING
