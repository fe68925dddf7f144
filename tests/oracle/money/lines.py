"""Lines of money and a period's own lines (docs/money.md, M9-M11, M17, M22 and M23)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from tests.oracle.money.exact import MICRO, RAW, fixed, largest_remainder, plain
from tests.oracle.money.months import Bounds, Calendar
from tests.oracle.money.prices import Price, PriceBook

WHOSE = ("namespace", "workload_kind", "workload", "workload_type", "tier")
KEY = (
    *(
        "kind",
        "team",
        "billing_on",
        "cluster",
        "namespace",
        "workload_kind",
        "workload",
    ),
    *("workload_type", "model", "profile", "lifecycle", "tier", "state"),
    *("price_currency", "rate", "status"),
)
HELD = ("busy", "idle", "unknown")
Key = tuple[str, ...]


@dataclass
class Line:
    """A line; `key` has the texts of KEY. Raw is None where there is no money."""

    key: Key
    ms: int = 0
    raw: Fraction | None = None
    fx: Fraction | None = None
    charge: int | None = None  # in 10^-6
    corrects: str = ""
    reference: str = ""

    def __getattr__(self, name: str) -> str:
        try:
            return self.key[KEY.index(name)]
        except ValueError:
            raise AttributeError(name) from None

    def array(self) -> list[str | None]:
        raw = None if self.raw is None or self.kind == "rounding" else plain(self.raw)
        charge = None if self.charge is None else fixed(self.charge, MICRO)
        fx = "" if self.fx is None else plain(self.fx)
        numbers = [fx, str(self.ms), raw, charge, self.key[-1]]
        return [*self.key[:-1], *numbers, self.corrects, self.reference]

    def text(self) -> str:
        return compact(self.array())


def compact(array: Iterable[str | None]) -> str:
    """A JSON array as RFC 8785 writes it."""
    return json.dumps(list(array), ensure_ascii=False, separators=(",", ":"))


def key(**texts: str) -> Key:
    """A key of the named texts; the others are empty."""
    return tuple(texts.get(name, "priced" if name == "status" else "") for name in KEY)


@dataclass
class OwnLines:
    """The lines that a period's own time makes, without charges."""

    world: Mapping[str, Any]
    calendar: Calendar
    bounds: Bounds
    method: str
    found: dict[Key, Line] = field(default_factory=dict)
    _held: dict[Key, int] = field(default_factory=lambda: defaultdict(int))

    def lines(self) -> list[Line]:
        prices = PriceBook(self.world, self.calendar)
        for fact in self.world["facts"]:
            at = datetime.fromisoformat(fact["at"])
            if self.bounds[0] <= at < self.bounds[1]:
                line = prices.match(fact, at, own=False)
                own = prices.match(fact, at, own=True)
                for state, ms in self._ms(fact).items():
                    self._add_time(fact, at, (state, ms), (line, own))
        self._spread()
        return [one for one in self.found.values() if one.ms or one.raw]

    def _ms(self, fact: Mapping[str, Any]) -> dict[str, int]:
        name = "mem_ms" if self.method.startswith("mem-v1") else "ms"
        return {state: int(ms) for state, ms in fact[name].items()}

    def _add_time(
        self,
        fact: Mapping[str, Any],
        at: datetime,
        time: tuple[str, int],
        prices: tuple[Price | None, Price | None],
    ) -> None:
        state, ms = time
        line, own = prices
        day = self.calendar.day(at).isoformat()
        group = {name: fact[name] for name in ("cluster", "model", "lifecycle")}
        group["billing_on"] = day
        if not fact["namespace"]:
            self._priced({"kind": "platform", "team": "platform"} | group, time, own)
            return
        team = fact["team"] or "unmapped"
        group_key = (day, fact["cluster"], fact["model"], fact["lifecycle"], team)
        if state in HELD:
            self._held[group_key] += ms
        if self.method.startswith("busy-v1") and state == "idle":
            self._priced({"kind": "platform", "team": "platform"} | group, time, own)
            return
        texts = group | {name: fact[name] for name in WHOSE}
        self._priced({"kind": "usage", "team": team} | texts, time, line)
        if line and own and line.converted is not None and own.converted is not None:
            texts = group | {"tier": fact["tier"], "profile": line.profile}
            more = ms * (own.converted - line.converted)
            self._add(key(kind="difference", team="platform", **texts), 0, more)

    def _priced(
        self, texts: dict[str, str], time: tuple[str, int], price: Price | None
    ) -> None:
        state, ms = time
        texts |= {"state": state, "status": "unpriced"}
        if price is None:
            self._add(key(**texts), ms, None)
            return
        if texts["kind"] == "usage":
            texts["profile"] = price.profile
        status = "unconverted" if price.fx is None else "priced"
        texts |= {"price_currency": price.currency, "rate": plain(price.rate)}
        each = price.converted
        raw = None if each is None else ms * each
        self._add(key(**texts | {"status": status}), ms, raw).fx = price.fx

    def _add(self, one: Key, ms: int, raw: Fraction | None) -> Line:
        line = self.found.setdefault(one, Line(one))
        line.ms += ms
        if raw is not None:
            line.raw = (line.raw or Fraction(0)) + raw
        return line

    def _spread(self) -> None:
        if "+" not in self.method:
            return
        pools: dict[Key, tuple[int, Fraction]] = {}
        names: Key
        for one in self.found.values():
            if one.kind == "platform" and one.raw is not None:
                names = (
                    one.billing_on,
                    one.cluster,
                    one.model,
                    one.lifecycle,
                    one.state,
                )
                ms, raw = pools.get(names, (0, Fraction(0)))
                pools[names] = ms + one.ms, raw + one.raw
        for names, (ms, raw) in pools.items():
            weights = self._weights(names)
            everything = sum(weights.values())
            if not everything:
                continue
            parts = {(team,): Fraction(n, everything) for team, n in weights.items()}
            units = raw * 10**RAW
            assert units.denominator == 1
            raws = largest_remainder(
                {team: units * part for team, part in parts.items()}, int(units)
            )
            times = largest_remainder(
                {team: ms * part for team, part in parts.items()}, ms
            )
            for team in parts:
                self._spread_line(
                    team[0], names, times[team], Fraction(raws[team], 10**RAW)
                )
            self._spread_line("platform", names, -ms, -raw)

    def _spread_line(self, team: str, names: Key, ms: int, raw: Fraction) -> None:
        fields = ("billing_on", "cluster", "model", "lifecycle", "state")
        texts = dict(zip(fields, names, strict=True))
        self._add(key(kind="spread", team=team, **texts), ms, raw)

    def _weights(self, names: Key) -> dict[str, int]:
        spread = self.method.partition("+")[2]
        day, cluster = names[:2]
        if spread == "quota":
            return self._quotas(day, cluster)
        weights: dict[str, int] = defaultdict(int)
        for (*group, team), ms in self._held.items():
            if spread == "alloc" and tuple(group) == names[:4]:
                weights[team] += ms
            if spread == "even" and group[:2] == [day, cluster] and team != "unmapped":
                weights[team] = max(weights[team], int(ms > 0))
        return weights

    def _quotas(self, day: str, cluster: str) -> dict[str, int]:
        begins = self.calendar.instant(day)
        latest: dict[str, tuple[datetime, int]] = {}
        for row in self.world["quotas"]:
            since = self.calendar.instant(row["valid_from"])
            if row["cluster"] != cluster or since > begins:
                continue
            if row["team"] not in latest or since >= latest[row["team"]][0]:
                latest[row["team"]] = since, row["milli_gpus"]
        return {team: milli for team, (_, milli) in latest.items()}
