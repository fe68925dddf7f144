"""One GPU in grid and table: its holders, look and text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.urls import reverse

from accounting.access.reads.teams import TeamRef, team_named
from accounting.fleet.reads.fleet import GpuMoney, GpuRow
from accounting.fleet.reads.holders import GpuHolder
from accounting.kit.charts import grids

SHORT_UUID = 24  # characters; UUIDs of NVIDIA have 40
Teams = Mapping[str, TeamRef]


@dataclass(frozen=True, slots=True)
class Held:
    """Holders as text: the first by name, and the number of others."""

    first: GpuHolder
    team: TeamRef
    more: int

    @property
    def text(self) -> str:
        """`chat-gateway-0 and 2 more`."""
        return self.first.pod + (f" and {self.more} more" if self.more else "")


def held_text(holders: Sequence[GpuHolder], teams: Teams) -> Held | None:
    """Holders as text; None without any."""
    if not holders:
        return None
    first = holders[0]
    return Held(first, team_named(teams, first.team), len(holders) - 1)


@dataclass(frozen=True, slots=True)
class GpuLine:
    """One GPU in grid and table. Shares are None if not known.

    Attributes:
        now: its holders in the newest window, as far as the visitor may see.
        held: its holders in the shown time; only for shown lines.
        teams: the visitor's teams that held it; empty for visitors who see all teams.
        row: its states, for visitors who see all teams.
        own_busy: the busy share of the time that the visitor's teams held it, for others.
        money: of the shown lines; of all if they are sorted by it.
    """

    uuid: str
    cluster: str
    node: str
    model: str
    has_page: bool  # for visitors who see all teams
    now: Held | None
    row: GpuRow | None = None
    own_busy: float | None = None
    is_present: bool = True  # present in the newest window
    driver: str = ""
    errors: tuple[str, ...] = ()
    held: Held | None = None
    teams: tuple[TeamRef, ...] = ()
    money: GpuMoney | None = None

    @property
    def busy(self) -> float | None:
        """Its busy share."""
        return self.row.busy_share if self.row else self.own_busy

    @property
    def allocated(self) -> float | None:
        """Its allocated share; None for visitors who see only their teams' time."""
        return self.row.allocated_share if self.row else None

    @property
    def look(self) -> str:
        """Of its square: q0..q9 by busy share, free, dark."""
        return look_of(self.busy, self.allocated if self.row else 1.0)[0]

    @property
    def text(self) -> str:
        """The same as text."""
        return look_of(self.busy, self.allocated if self.row else 1.0)[1]

    @property
    def before(self) -> Held | None:
        """Earlier holders in the shown time, or others in addition to the current ones."""
        if self.held is None or (self.now == self.held and not self.held.more):
            return None
        return self.held

    @property
    def shown_slot(self) -> int:
        """The color of its bar: of the team that holds it, or held it longest."""
        held = self.now or self.held
        return held.team.slot if held else 0

    @property
    def url(self) -> str:
        """Its own page, if the visitor may open it; only for shown lines."""
        return _url(self.uuid) if self.has_page else ""

    @property
    def short(self) -> str:
        """The readable start of its UUID; the tooltip shows the full one."""
        return short_uuid(self.uuid)


@lru_cache(
    maxsize=16_384
)  # a grid has a thousand of them, and shows them again and again
def _url(uuid: str) -> str:
    return reverse("gpu", args=[uuid])


def short_uuid(uuid: str) -> str:
    """The readable start of a long UUID."""
    return uuid if len(uuid) <= SHORT_UUID else f"{uuid[:12]}…"


def line_of(row: GpuRow, teams: Teams) -> GpuLine:
    """One GPU for visitors who see all teams; details of shown lines are added later."""
    return GpuLine(
        uuid=row.uuid,
        cluster=row.cluster,
        node=row.node,
        model=row.model,
        has_page=True,
        now=held_text(row.holders, teams),
        row=row,
        is_present=row.is_present,
        driver=row.driver,
        errors=row.errors,
    )


def look_of(busy: float | None, allocated: float | None) -> tuple[str, str]:
    """The look of a cell, and its text."""
    if allocated is None:
        return "dark", "no data"
    if not allocated:
        return "free", "unallocated"
    step = grids.heat_step(busy)
    if step is None:
        return "dark", "held, no data"
    return f"q{step}", f"{busy:.0%} busy"
