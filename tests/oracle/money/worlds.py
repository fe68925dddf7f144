"""Random ledgers by number: worlds that change between shows, closes and reopenings."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

from tests.oracle.money.months import Calendar, after

World = dict[str, Any]
MODELS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-L4", "NVIDIA-A100-SXM4-80GB")
FOREIGN = MODELS[2]  # its prices are often in another currency
CURRENCIES = {"EUR": 2, "JPY": 0, "KWD": 3}
ZONES = ("Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata")
AT_MIDNIGHT = (  # clocks change at midnight there, or by half an hour
    *("America/Havana", "Africa/Cairo", "America/Santiago"),
    *("Asia/Beirut", "Atlantic/Azores", "Australia/Lord_Howe"),
)
# October has 745 hours in Berlin, March 743; September begins a week before Santiago's change
FIRST_MONTHS = ("2026-09", "2026-10", "2027-02")
METHODS = ("alloc-v1", "busy-v1")
SPREADS = ("", "+alloc", "+even")
HELD, NOT_HELD = ("busy", "idle", "unknown"), ("free", "stranded", "stray", "dark")
TIMES = (1, 1, 2, 3, 150_000, 300_000, 3_600_000)  # equal remainders are common
RATES = ("0", "1.44", "2.1", "2.01", "0.000001", "7", "999999.999999", "0.3")
NAMES = ("train", "a", "emoji😀", "emoji～", 'say "hi"\\')
WINDOW = timedelta(minutes=5)


def steps_of(number: int) -> list[dict[str, Any]]:
    """The steps of a ledger, as a golden case has them."""
    return list(_steps(Random(number)))


def _steps(random: Random) -> Iterator[dict[str, Any]]:
    maker = _Maker(random)
    month, last = maker.month, after(maker.month, 2)
    reopened = False
    for _ in range(6):
        method = random.choice(METHODS) + random.choice(SPREADS)
        yield {
            "do": "show",
            "period": month,
            "method": method,
            "world": maker.world(month),
        }
        if month > maker.month and not reopened and random.random() < 0.3:
            reopened, month = True, after(month, -1)
            yield {"do": "reopen", "period": month, "world": maker.world(month)}
            continue
        yield {
            "do": "close",
            "period": month,
            "method": method,
            "world": maker.world(month),
        }
        if month == last:
            break
        month = after(month)
    yield {"do": "close", "period": after(month, 3), "method": "alloc-v1"}


class _Maker:
    """Makes the worlds of one ledger; each differs a little from the one before."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.month = random.choice(FIRST_MONTHS)
        self.currency = random.choice(["EUR", "EUR", *CURRENCIES])
        zone = random.choice(random.choice([ZONES, AT_MIDNIGHT]))
        self.billing: list[Mapping[str, Any]] = [
            {"currency": self.currency, "timezone": zone, "month": None}
        ]
        if random.random() < 0.4:
            other = random.choice([*ZONES, *AT_MIDNIGHT])
            row = {"currency": self.currency, "timezone": other}
            self.billing.append(row | {"month": after(self.month)})
        self.calendar = Calendar(self.billing, {})
        self.changes = list(self._changes())
        self.prices = self._prices()
        self.facts = [self._fact() for _ in range(random.randint(3, 16))]
        self.entries: list[dict[str, str]] = []
        self.conversions = self._conversions()

    def world(self, month: str) -> World:
        """What is known now; one thing has changed."""
        change = self.random.choice(
            [self._other_price, self._other_time, self._other_team, self._more, None]
        )
        if change:
            change()
        if self.random.random() < 0.3:
            self._entry(month)
        return {
            "billing": self.billing,
            "prices": [dict(price) for price in self.prices],
            "conversions": list(self.conversions),
            "quotas": [],
            "facts": [fact | {"ms": dict(fact["ms"])} for fact in self.facts],
            "entries": list(self.entries),
        }

    def _other_price(self) -> None:
        self.random.choice(self.prices)["per_gpu_hour"] = self._rate()

    def _other_time(self) -> None:
        ms = self.random.choice(self.facts)["ms"]
        ms[self.random.choice(sorted(ms))] = self.random.choice(TIMES)

    def _other_team(self) -> None:
        fact = self.random.choice(self.facts)
        if fact["namespace"]:
            fact["team"] = self._team()

    def _more(self) -> None:
        if len(self.facts) > 1 and self.random.random() < 0.5:
            self.facts.pop(self.random.randrange(len(self.facts)))
        self.facts.append(self._fact())

    def _team(self) -> str:
        return self.random.choice(["vision", "search", "speech", ""])

    def _rate(self) -> str:
        if self.random.random() < 0.5:
            return self.random.choice(RATES)
        return f"{self.random.randrange(9)}.{self.random.randrange(10**6):06d}"

    def _changes(self) -> Iterator[datetime]:
        """Where the days begin on which clocks change, and those after them."""
        start, *_ = self.calendar.bounds(self.month)
        _, end, _ = self.calendar.bounds(after(self.month, 2))
        low = start
        while low < end:
            day = self.calendar.day(low) + timedelta(days=1)
            high = self.calendar.begins(day)
            if high - low != timedelta(days=1):
                yield from (low, high)
            low = high

    def _at(self) -> datetime:
        """A window in the three months; often one beside the edge of a billing day."""
        month = after(self.month, self.random.randrange(3))
        start, end, _ = self.calendar.bounds(month)
        day = self.calendar.day(start) + timedelta(days=self.random.randrange(28))
        edge = self.random.choice(
            [start, end, self.calendar.begins(day), self._noon(day), *self.changes[:4]]
        )
        return edge + self.random.randint(-2, 1) * WINDOW

    @staticmethod
    def _noon(day: date) -> datetime:
        return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)

    def _fact(self) -> dict[str, Any]:
        random = self.random
        held = random.random() < 0.7
        states = random.sample(HELD if held else NOT_HELD, random.randint(1, 3))
        return {
            "at": f"{self._at():%Y-%m-%dT%H:%M:%SZ}",
            "cluster": random.choice(["north", "south"]),
            "model": random.choice(MODELS),
            "lifecycle": random.choice(["on-demand", "spot", "unknown"]),
            "profile": random.choice(["", "1g.10gb"]) if held else "",
            "tier": random.choice(["", "low"]) if held else "",
            "team": self._team() if held else "",
            "namespace": random.choice(["ml", "ü"]) if held else "",
            "workload_kind": "Job" if held else "",
            "workload": random.choice(NAMES) if held else "",
            "workload_type": random.choice(["training", ""]) if held else "",
            "ms": {state: random.choice(TIMES) for state in states},
        }

    def _prices(self) -> list[dict[str, Any]]:
        """For each model some prices; the same fields never overlap in time."""
        prices, random = [], self.random
        for model in MODELS:
            kinds = {("", "", "", "")} if random.random() < 0.8 else set()
            for _ in range(random.randrange(4)):
                kinds.add(self._fields())
            for fields in sorted(kinds):
                prices += self._in_time(model, fields)
        return prices or self._in_time(MODELS[0], ("", "", "", ""))

    def _fields(self) -> tuple[str, str, str, str]:
        choose = self.random.choice
        return (
            choose(["", "north"]),
            choose(["", "1g.10gb"]),
            choose(["", "spot"]),
            choose(["", "low"]),
        )

    def _in_time(
        self, model: str, fields: tuple[str, str, str, str]
    ) -> list[dict[str, Any]]:
        random = self.random
        currency = self.currency
        if model == FOREIGN and random.random() < 0.7:
            currency = "USD"
        cuts = [None, *sorted(self._cut() for _ in range(random.randrange(2))), None]
        names = ("cluster", "profile", "lifecycle", "tier")
        first = {"kind": "rate", "model": model, "currency": currency}
        return [
            first
            | dict(zip(names, fields, strict=True))
            | {
                "per_gpu_hour": self._rate(),
                "valid_from": since or "2020-01-01",
                "valid_to": until,
            }
            for since, until in zip(cuts, cuts[1:], strict=False)
        ]

    def _cut(self) -> str:
        at = self._at()
        if self.random.random() < 0.5:
            return self.calendar.day(at).isoformat()
        return f"{at:%Y-%m-%dT%H:%M:%SZ}"

    def _conversions(self) -> list[dict[str, str]]:
        first = date.fromisoformat(f"{self.month}-01")
        days = {self.random.randint(-20, 80) for _ in range(self.random.randrange(4))}
        return [
            {
                "from": "USD",
                "to": self.currency,
                "on": (first + timedelta(days=day)).isoformat(),
                "rate": f"{self.random.randint(0, 2)}.{self.random.randrange(1, 10**10):010d}",
            }
            for day in sorted(days)
        ]

    def _entry(self, month: str) -> None:
        places = CURRENCIES[self.currency]
        kind = self.random.choice(["credit", "adjustment"])
        amount = f"{self.random.randint(1, 99)}"
        amount += f".{self.random.randrange(10**places):0{places}d}" if places else ""
        down = kind == "credit" or self.random.random() < 0.5
        entry = {
            "id": f"E-{len(self.entries) + 1}",
            "kind": kind,
            "team": self.random.choice(["vision", "search"]),
            "billing_on": f"{month}-{self.random.randint(1, 28):02d}",
            "amount": f"-{amount}" if down else amount,
        }
        self.entries.append(entry)
