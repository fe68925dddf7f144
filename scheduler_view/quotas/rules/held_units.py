"""Units of resources that pods hold, as a level that changes at instants."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from accounting.core.interval import to_instant

OPEN = int(np.iinfo(np.int64).max)  # the end of a hold that is not over
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class HeldUnits:
    """Holds of one resource by pods of one namespace and priority class.

    Attributes:
        low, high: begin and end of each, in milliseconds; OPEN if it is not over.
        units: of each.
    """

    cluster_id: int
    namespace: str
    priority_class: str
    resource: str
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    units: NDArray[np.int64]

    @property
    def now(self) -> int:
        """Units of holds that are not over."""
        return int(self.units[self.high == OPEN].sum())


@dataclass(frozen=True, slots=True)
class HeldLevel:
    """Units held at once: `held[i]` from `at[i]` until the next instant, in milliseconds."""

    at: NDArray[np.int64]
    held: NDArray[np.int64]

    @property
    def peak(self) -> int:
        """The most units held at once; 0 without a hold."""
        return int(self.held.max(initial=0))

    def days_above(self, units: int, until_ms: int, zone: str) -> int:
        """Days of a time zone on which more than `units` were held, before an instant."""
        place, days = ZoneInfo(zone), set[date]()
        ends = np.append(self.at[1:], until_ms)
        above = (self.held > units) & (ends > self.at)
        for low, high in zip(
            self.at[above].tolist(), ends[above].tolist(), strict=True
        ):
            day = to_instant(low).astimezone(place).date()
            last = to_instant(high - 1).astimezone(place).date()
            while day <= last:
                days.add(day)
                day += _DAY
        return len(days)


def level_of(holds: Iterable[HeldUnits]) -> HeldLevel:
    """What is held by all of them together; a hold that ends as another begins adds nothing."""
    found = [*holds]
    none = np.empty(0, np.int64)
    ends = [one.high != OPEN for one in found]
    at = np.concatenate(
        [
            none,
            *(one.low for one in found),
            *(one.high[is_over] for one, is_over in zip(found, ends, strict=True)),
        ]
    )
    change = np.concatenate(
        [
            none,
            *(one.units for one in found),
            *(-one.units[is_over] for one, is_over in zip(found, ends, strict=True)),
        ]
    )
    order = np.argsort(at, kind="stable")
    at, held = at[order], np.cumsum(change[order])
    is_last = np.ones(len(at), bool)
    is_last[:-1] = at[1:] != at[:-1]
    return HeldLevel(at[is_last], held[is_last])
