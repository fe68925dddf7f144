"""What a rule found: one cause, and a moment of the past at which it would have fired."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class AlertCause:
    """One thing that is above its threshold now.

    Attributes:
        key: the same as long as it lasts, and when it comes back; unique in its rule.
        what: a sentence without a period.
        about: one line more.
        team: number; None if it is nobody's.
        since: when it began.
        fired_at: when it reached the threshold, by the data.
        figure: what grows: its amount, or how long it lasts.
        unit: of the figure: a currency, or a `FigureUnit`.
        amount, per_hour: None without a price.
        keeps_since: `since` is of what was looked at; one that lasts began when it was found first.
        place: arguments of the route to which its button leads; `query` of that address.
    """

    key: str
    what: str
    since: datetime
    fired_at: datetime
    figure: Decimal
    unit: str
    about: str = ""
    team: int | None = None
    amount: Decimal | None = None
    per_hour: Decimal | None = None
    currency: str = ""
    place: Sequence[str | int] = ()
    query: Mapping[str, str] = field(default_factory=dict)
    keeps_since: bool = False


class Firing(NamedTuple):
    """A moment at which a rule would have fired with a threshold.

    Attributes:
        team: 0 for what is nobody's.
    """

    threshold: int
    team: int
    at: datetime


def fired_within(
    at: datetime, until: datetime, start: datetime, end: datetime
) -> datetime | None:
    """When a cause was first above its threshold in some time; None if it was not.

    What was above it already when the time began counts then: it is open.

    Args:
        at, until: when it reached the threshold, and when it ended.
        start, end: of the time.
    """
    first = max(at, start)
    return first if first < end and first <= until else None


def first_at_once(
    spans: Iterable[tuple[int, int]], least: int, start: int, end: int
) -> Iterator[int]:
    """When the first of several at the same time had lasted for so long, as `fired_within`.

    Args:
        spans: begin and end of each; they may overlap.
        least: how long one must last.
        start, end: of the time that is looked at.
    """
    fired: list[
        tuple[int, int]
    ] = []  # when the first had lasted so long, and the last ended
    until = -1
    for since, gone in sorted(spans):
        if since + least > gone:
            continue
        if since + least > until:
            fired.append((since + least, gone))
        until = max(until, gone)
        fired[-1] = fired[-1][0], until
    for at, gone in fired:
        if start <= gone and max(at, start) < end:
            yield max(at, start)
