"""A ledger that shows, closes, reopens and corrects periods (docs/money.md, M4 and M25-M32)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tests.oracle.money.exact import (
    HOUR,
    MICRO,
    fixed,
    half_even,
    largest_remainder,
    minor_places,
)
from tests.oracle.money.lines import KEY, Key, Line, OwnLines, compact, key
from tests.oracle.money.months import Bounds, Calendar, after, stamp

NO_CAUSE = ("team", "profile", "price_currency", "rate", "status")


@dataclass
class Booking:
    """A period as it is booked, with its lines."""

    period: str
    revision: int
    bounds: Bounds
    currency: str
    method: str
    lines: list[Line]
    totals: dict[str, int]  # 10^-6 by team
    payables: dict[str, int]  # minor units by team
    hash: str = ""

    @property
    def name(self) -> str:
        return f"{self.period}-r{self.revision}"

    def own(self) -> list[Line]:
        kinds = ("usage", "platform", "difference", "spread")
        return [x for x in self.lines if not x.corrects and x.kind in kinds]

    def seal(self, previous: str) -> None:
        """Sort the lines and hash them (M29)."""
        self.lines.sort(key=lambda line: line.text().encode())
        start, end, zone = self.bounds
        places = minor_places(self.currency)
        payable = fixed(sum(self.payables.values()), places)
        header = ["gpu-ledger-close-v1", self.period, str(self.revision)]
        header += [stamp(start), stamp(end), zone, self.currency, str(places)]
        header += [self.method, str(len(self.lines)), payable, previous]
        texts = [compact(header), *(line.text() for line in self.lines)]
        self.hash = sha256("".join(f"{x}\n" for x in texts).encode()).hexdigest()


def charge(lines: Iterable[Line], total: int | None = None) -> int:
    """Charges of one statement: its exact amounts to their rounded sum; the sum in 10^-6."""
    priced = {line.key: line for line in lines if line.raw is not None}
    raws = {one: (line.raw or Fraction(0)) / HOUR for one, line in priced.items()}
    if total is None:
        total = half_even(sum(raws.values(), Fraction(0)), MICRO)
    micros = {one: raw * 10**MICRO for one, raw in raws.items()}
    for one, share in largest_remainder(micros, total).items():
        priced[one].charge = share
    return total


def by_team(lines: Iterable[Line]) -> dict[str, list[Line]]:
    teams: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        teams[line.team].append(line)
    return teams


@dataclass
class Ledger:
    """What was closed, and what is known now."""

    world: Mapping[str, Any] = field(default_factory=dict)
    closed: dict[str, Booking] = field(default_factory=dict)
    hashes: dict[str, tuple[int, str]] = field(default_factory=dict)  # latest revisions

    def calendar(self) -> Calendar:
        booked = {name: one.bounds for name, one in self.closed.items()}
        return Calendar(self.world["billing"], booked)

    def next(self) -> str | None:
        """The period to close next; None: any."""
        if self.closed:
            return after(max(self.closed))
        return min(self.hashes, default=None)

    def show(self, period: str, method: str) -> Booking:
        if period in self.closed:
            return self.closed[period]
        bounds = self.calendar().bounds(period)
        lines = OwnLines(self.world, self.calendar(), bounds, method).lines()
        totals: dict[str, int] = defaultdict(int, platform=0)
        for team, own in by_team(lines).items():
            totals[team] += charge(own)
        lines += self._entries(period)
        if period == self.next():
            for one in self.closed.values():
                lines += self._corrections(one)
        for line in lines:
            if line.corrects or line.reference:
                totals[line.team] += line.charge or 0
        revision = self.hashes.get(period, (0, ""))[0] + 1
        currency = self.world["billing"][0]["currency"]
        booking = Booking(period, revision, bounds, currency, method, lines, totals, {})
        self._pay(booking)
        booking.seal(self.hashes.get(after(period, -1), (0, ""))[1])
        return booking

    def close(self, period: str, method: str) -> Booking | None:
        """The booking, now frozen; None: not the next period to close."""
        if self.next() not in (None, period):
            return None
        booking = self.show(period, method)
        self.closed[period] = booking
        self.hashes[period] = booking.revision, booking.hash
        return booking

    def reopen(self, period: str) -> bool:
        if period not in self.closed or period != max(self.closed):
            return False
        del self.closed[period]
        return True

    def _entries(self, period: str) -> list[Line]:
        lines = []
        for entry in self.world["entries"]:
            if entry["billing_on"][:7] != period:
                continue
            amount = Fraction(entry["amount"])
            for team, value in ((entry["team"], amount), ("platform", -amount)):
                texts = {"kind": entry["kind"], "team": team}
                one = key(billing_on=entry["billing_on"], **texts)
                micros = half_even(value, MICRO)
                line = Line(one, raw=value * HOUR, charge=micros, reference=entry["id"])
                lines.append(line)
        return lines

    def _pay(self, booking: Booking) -> None:
        """Payables and the lines that round to them."""
        places = minor_places(booking.currency)
        unit = 10 ** (MICRO - places)

        def payable(micros: int) -> int:
            return half_even(Fraction(micros, 10**MICRO), places)

        paid = {team: payable(total) for team, total in booking.totals.items()}
        others = sum(paid.values()) - paid["platform"]
        paid["platform"] = payable(sum(booking.totals.values())) - others
        booking.payables = paid
        for team, total in booking.totals.items():
            rest = paid[team] * unit - total
            if rest:
                one = key(kind="rounding", team=team)
                booking.lines.append(Line(one, charge=rest))

    def booked(self, closed: Booking) -> dict[Key, list[Line]]:
        """Frozen lines of a period and frozen corrections of it, oldest first."""
        lines: dict[Key, list[Line]] = defaultdict(list)
        for line in closed.own():
            lines[line.key].append(line)
        for period in sorted(self.closed):
            for line in self.closed[period].lines:
                if line.corrects[:7] == closed.period:
                    lines[line.key].append(line)
        return lines

    def now(self, closed: Booking) -> dict[Key, Line]:
        """A closed period's own lines as they would be made today."""
        world, method = self.world, closed.method
        own = OwnLines(world, self.calendar(), closed.bounds, method)
        return {line.key: line for line in own.lines()}

    def _corrections(self, closed: Booking) -> list[Line]:
        booked, now = self.booked(closed), self.now(closed)
        lines = []
        totals: dict[str, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 2)
        for one in {**booked, **now}:
            before = booked.get(one, [])
            made = now.get(one, Line(one))
            was = sum((x.raw or Fraction(0) for x in before), Fraction(0))
            raw = made.raw or Fraction(0)
            ms = made.ms - sum(x.ms for x in before)
            team = one[KEY.index("team")]
            totals[team] = [totals[team][0] + raw, totals[team][1] + was]
            if ms or raw != was:
                fx = made.fx if one in now else before[-1].fx
                change = raw - was if one[-1] == "priced" else None
                lines.append(Line(one, ms, change, fx, corrects=closed.name))
        for team, changed in by_team(lines).items():
            raw, was = totals[team]
            charge(changed, half_even(raw / HOUR, MICRO) - half_even(was / HOUR, MICRO))
        return lines


def causes(booking: Booking) -> list[list[str]]:
    """Each corrected group with its cause (M32)."""
    groups: dict[tuple[str, ...], list[Line]] = defaultdict(list)
    for line in booking.lines:
        if line.corrects:
            kept = line.kind in ("difference", "spread")
            texts = zip(KEY, line.key, strict=True)
            group = [
                text if kept or name not in NO_CAUSE else "" for name, text in texts
            ]
            groups[line.corrects, *group].append(line)
    found = []
    for names, lines in groups.items():
        teams = [sum(x.ms for x in own) for own in by_team(lines).values()]
        if names[1] in ("difference", "spread"):
            cause = "derived"
        elif sum(teams):
            cause = "facts"
        else:
            cause = "mapping" if any(teams) else "price"
        found.append([*names, cause])
    return sorted(found)
