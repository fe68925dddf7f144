"""How soon work probably starts, in words, by how long waits like it lasted (scheduling.md S18)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from fractions import Fraction

from scheduler_view.waits.rules.explanation import BlockerSet
from scheduler_view.waits.rules.units import LASTING

ENOUGH = 10  # waits that lasted as long; with fewer nothing is said
LIKELY = Fraction(8, 10)  # of them started within the time that is named
EVENING_ENDS = time(22)
_LENGTHS = {
    "minutes": timedelta(minutes=10),
    "hour": timedelta(hours=1),
    "four_hours": timedelta(hours=4),
    "day": timedelta(days=1),
}


class StartWord(StrEnum):
    """Within which time work probably starts, or why nothing is said of it."""

    MINUTES = "minutes"
    HOUR = "hour"
    FOUR_HOURS = "four_hours"
    EVENING = "evening"
    TODAY = "today"
    DAY = "day"
    FEW = "few"  # too few waits like it lasted as long
    LONG = "long"  # most of them lasted more than a day longer
    ENDLESS = "endless"  # what holds the GPUs runs without an end


@dataclass(frozen=True, slots=True)
class WaitLength:
    """How long a wait lasted, in milliseconds.

    Attributes:
        is_started: it ended with a start; else it was given up, or still lasts.
    """

    lasted_ms: int
    is_started: bool


@dataclass(frozen=True, slots=True)
class SaidStart:
    """What is said of a start.

    Attributes:
        like: waits like it that lasted as long, and of which it is known.
        kept: those of them that started within the time that the word names.
    """

    word: StartWord
    like: int = 0
    kept: int = 0


def size_class(units: int) -> int:
    """Waits for 1, 2, 3 to 4, 5 to 8, 9 to 16 ... GPUs are alike."""
    return max(0, units - 1).bit_length()


def horizons(now: datetime) -> list[tuple[StartWord, int]]:
    """The times that words name, shortest first, in milliseconds from now.

    Args:
        now: in the time zone whose evening and day are meant.
    """
    found = [(StartWord(word), length) for word, length in _LENGTHS.items()]
    midnight = datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo)
    evening = datetime.combine(now.date(), EVENING_ENDS, now.tzinfo)
    found += [(StartWord.EVENING, evening - now), (StartWord.TODAY, midnight - now)]
    milli = timedelta(milliseconds=1)
    longest = _LENGTHS["four_hours"]
    named = {StartWord.EVENING, StartWord.TODAY}
    return sorted(
        (
            (word, at // milli)
            for word, at in found
            if word not in named or at > longest
        ),
        key=lambda one: one[1],
    )


def said_start(
    waits: Sequence[WaitLength], waited_ms: int, ends: Iterable[tuple[StartWord, int]]
) -> SaidStart:
    """The shortest time within which most of the waits started that lasted as long.

    A wait that was given up or still lasts counts against a time only if it lasted longer.

    Args:
        waits: of the same cause, pool and size.
        waited_ms: how long the work has waited.
        ends: as of `horizons`.
    """
    longer = [one for one in waits if one.lasted_ms > waited_ms]
    best = SaidStart(StartWord.FEW)
    for word, length in ends:
        until = waited_ms + length
        kept = sum(one.is_started and one.lasted_ms <= until for one in longer)
        like = kept + sum(one.lasted_ms > until for one in longer)
        if like < ENOUGH:
            if best.word is StartWord.FEW:
                best = SaidStart(StartWord.FEW, max(best.like, like))
            continue
        if kept >= LIKELY * like:
            return SaidStart(word, like, kept)
        best = SaidStart(StartWord.LONG, like, kept)
    return best


def is_endless(sets: Sequence[BlockerSet], count: int) -> bool:
    """Whether each set of pods of which all must end has one that runs without an end.

    Args:
        count: of all sets; nothing is known of those that are not in `sets`.
    """
    kinds = [[one.unit.partition("/")[0] for one in found.blockers] for found in sets]
    return (
        bool(kinds)
        and len(kinds) == count
        and all(not LASTING.isdisjoint(found) for found in kinds)
    )
