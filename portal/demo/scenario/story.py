"""The scenario of the demo: when its history starts, and when habits change.

Times are Unix seconds. Local time is UTC+1 all year, which keeps the daily rhythm simple.
"""

from dataclasses import dataclass

DAY_S = 86_400
HOUR_S = 3_600
WEEK_DAYS = 7
WEEK_S = WEEK_DAYS * DAY_S
LOCAL_OFFSET_S = HOUR_S
_EPOCH_WEEKDAY = 3  # 1 January 1970 was a Thursday
FIRST_MONTH = 28 * DAY_S
WHOLE_FLEET = 308  # the sum of `fleet.POOLS`: `gpus` is scaled by it


@dataclass(frozen=True, slots=True)
class Story:
    """One demo: everything in it is a function of these values and the time.

    Attributes:
        seed: of all random numbers.
        start_s: start of the history; a local midnight.
        days: of history before the first start of the demo.
        gpus: approximate number of GPUs in the fleet.
    """

    seed: int
    start_s: int
    days: int = 8 * WEEK_DAYS
    gpus: int = WHOLE_FLEET

    @classmethod
    def ending_at(cls, now_s: int, *, seed: int, days: int, gpus: int) -> "Story":
        """The scenario whose history of full days ends on the local day of `now_s`."""
        today = now_s - (now_s + LOCAL_OFFSET_S) % DAY_S
        return cls(seed, today - days * DAY_S, days, gpus)

    @property
    def length_s(self) -> int:
        """Seconds of history."""
        return self.days * DAY_S

    @property
    def change_s(self) -> int:
        """When quotas, tiers and spot nodes start: after four weeks, or half of fewer."""
        return self.start_s + min(FIRST_MONTH, self.length_s // 2 // DAY_S * DAY_S)

    @property
    def scale(self) -> float:
        """The size relative to the full-size demo."""
        return self.gpus / WHOLE_FLEET

    def is_reformed(self, at_s: int) -> bool:
        """True after the change."""
        return at_s >= self.change_s

    def at(self, fraction: float) -> int:
        """A moment by its position in the history: 0 is its start, 1 its end."""
        return self.start_s + int(self.length_s * fraction)


def local_day(at_s: int) -> int:
    """Number of the local day."""
    return (at_s + LOCAL_OFFSET_S) // DAY_S


def day_start(day: int) -> int:
    """The first second of a local day."""
    return day * DAY_S - LOCAL_OFFSET_S


def weekday(day: int) -> int:
    """0 is Monday."""
    return (day + _EPOCH_WEEKDAY) % 7


def is_workday(day: int) -> bool:
    """True from Monday to Friday."""
    return weekday(day) < 5
