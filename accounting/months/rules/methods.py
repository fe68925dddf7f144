"""Methods: who pays for which time, and how unallocated cost is spread (money.md M22, M23)."""

from dataclasses import dataclass
from enum import StrEnum


class Base(StrEnum):
    """Who pays for held time."""

    ALLOCATION = "alloc-v1"  # the holder pays busy, idle and unknown time
    BUSY = "busy-v1"  # the holder pays busy and unknown time, the platform idle time


class Spread(StrEnum):
    """How the platform's lines are divided over teams; the weights of each team."""

    NONE = ""
    HELD_TIME = (
        "alloc"  # the team's held time of the same day, cluster, model and lifecycle
    )
    QUOTA = "quota"  # the team's quota in the cluster at the start of the day
    EVEN = (
        "even"  # 1 for each team, but unmapped, with held time in the cluster that day
    )


class MethodError(ValueError):
    """A text that names no method."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method with its id, such as `alloc-v1` or `busy-v1+even`."""

    base: Base
    spread: Spread = Spread.NONE

    @property
    def id(self) -> str:
        """The text on every statement and file."""
        return f"{self.base}+{self.spread}" if self.spread else str(self.base)

    @property
    def version(self) -> int:
        """Of the base: a changed rule is a new version, so that old months keep theirs."""
        return int(self.base.rpartition("-v")[2])

    @property
    def paid_states(self) -> tuple[str, ...]:
        """Held states that the holder pays for. Unknown is not proven idle, so it is paid."""
        if self.base is Base.BUSY:
            return ("busy", "unknown")
        return ("busy", "idle", "unknown")

    @classmethod
    def parse(cls, text: str) -> "Method":
        """The method of an id.

        Raises:
            MethodError: with the ids that exist.
        """
        try:
            base, _, spread = text.partition("+")
            method = cls(Base(base), Spread(spread))
        except ValueError:
            method = None
        if method is None or method.id != text:
            known = ", ".join(one.id for one in METHODS)
            raise MethodError(f"{text!r} is not a method. Methods: {known}")
        return method


METHODS = tuple(Method(base, spread) for base in Base for spread in Spread)
DEFAULT_METHOD = Method(Base.ALLOCATION)


_BASES = {Base.ALLOCATION: "By allocation", Base.BUSY: "By use"}
_SPREADS = {
    Spread.NONE: "",
    Spread.HELD_TIME: ", unallocated cost by held time",
    Spread.QUOTA: ", unallocated cost by quota",
    Spread.EVEN: ", unallocated cost in equal parts",
}


def method_title(name: str) -> str:
    """What pages call a method.

    Raises:
        MethodError: the method does not exist.
    """
    method = Method.parse(name)
    return f"{_BASES[method.base]}{_SPREADS[method.spread]}"
