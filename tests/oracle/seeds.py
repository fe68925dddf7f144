"""One random fleet for each number, for as long as the generator stays as it is."""

from dataclasses import fields, is_dataclass
from itertools import count

from tests.oracle.both import differs
from tests.oracle.dice import OfNumber, simplest
from tests.oracle.fleets import scrape
from tests.oracle.ledger import ledger
from tests.oracle.plans import Plan
from tests.oracle.themes import NAMES, a_fleet

APART = 10**9  # between the seeds of a number whose first fleet has no metric


def theme_of(number: int) -> str:
    """The theme of a number: all of them in turn."""
    return NAMES[number % len(NAMES)]


def seed_of(number: int) -> int:
    """The first seed of a number whose fleet has a metric in its samples."""
    theme = theme_of(number)
    seeds = (number + APART * n for n in count())
    return next(s for s in seeds if _is_case(a_fleet(OfNumber(s), theme)))


def fleet_of(number: int) -> Plan:
    """The fleet of a number."""
    return a_fleet(OfNumber(seed_of(number)), theme_of(number))


def smaller(number: int) -> list[str]:
    """A fleet like that of a number, but simpler, of which the domain differs, and how."""
    theme, seed = theme_of(number), seed_of(number)

    def difference(dice: OfNumber) -> list[str]:
        plan = a_fleet(dice, theme)
        if not _is_case(plan):
            return []
        samples = scrape(plan)
        return differs(samples, plan.setup, ledger(samples, plan.setup))

    choices = simplest(seed, lambda dice: bool(difference(dice)))
    lines = difference(OfNumber(seed, choices))
    if not lines:
        return ["none: the domain alone says what the rules say"]
    return [brief(a_fleet(OfNumber(seed, choices), theme)), *lines]


def _is_case(plan: Plan) -> bool:
    return any(sample.name != "up" for sample in scrape(plan))


def brief(value: object) -> str:
    """A plan as Python that makes it again, without what is as it is by default."""
    if isinstance(value, tuple):
        return "(" + "".join(f"{brief(item)}, " for item in value).rstrip() + ")"
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    shown = [
        f"{item.name}={brief(getattr(value, item.name))}"
        for item in fields(value)
        if getattr(value, item.name) != item.default
    ]
    return f"{type(value).__name__}({', '.join(shown)})"
