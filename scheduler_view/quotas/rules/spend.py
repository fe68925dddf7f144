"""The maximum charge that a quota allows, as text."""

from dataclasses import dataclass
from decimal import Decimal

from scheduler_view.clusters.rules.wording import counted, listed, money, units, whose

MONTH_HOURS = 30 * 24
NAMED_MODELS = 3  # models without a price that a sentence names


@dataclass(frozen=True, slots=True)
class UnitRates:
    """The rate of one unit of a resource for an hour; a quota does not distinguish models.

    Attributes:
        lowest, highest: over the models with a price; None without prices.
        unpriced: models without a price, each with its present units.
    """

    lowest: Decimal | None = None
    highest: Decimal | None = None
    unpriced: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Spending:
    """The maximum charge of one changed quota.

    Attributes:
        name: of the team.
        before, after: units of the quota; None for no quota.
    """

    name: str
    resource: str
    before: int | None
    after: int | None
    rates: UnitRates
    currency: str


def spend_text(facts: Spending) -> str:
    """The maximum charge of a month, its rates, and the models without a price."""
    begin = f"{whose(facts.name)} highest possible charge in a 30-day month"
    highest, left_out = facts.rates.highest, _left_out(facts)
    if highest is None:
        why = (
            "no model of this resource has a price."
            if left_out
            else "no node reports it."
        )
        return f"{begin} cannot be computed: {why}{left_out}"
    if facts.after is None:
        return f"{begin} is no longer limited by a quota.{left_out}"
    rate, monthly = _rate_text(facts, highest), highest * MONTH_HOURS
    after = money(monthly * facts.after, facts.currency)
    if facts.before is None:
        return f"{begin} becomes {after} ({facts.after} at {rate}).{left_out}"
    if facts.before == facts.after:
        return f"{begin} stays {after} ({facts.after} at {rate}).{left_out}"
    verb = "rises" if facts.after > facts.before else "falls"
    before = money(monthly * facts.before, facts.currency)
    return (
        f"{begin} {verb} from {before} to {after} ({facts.before} → {facts.after} at "
        f"{rate}).{left_out}"
    )


def _rate_text(facts: Spending, highest: Decimal) -> str:
    lowest = facts.rates.lowest
    message = f"{money(highest, facts.currency)} an hour"
    if lowest is None or lowest == highest:
        return message
    least = money(lowest, facts.currency)
    return f"{message}, the highest rate of this resource; the lowest is {least}"


def _left_out(facts: Spending) -> str:
    """The models without a price, as a separate sentence; empty if there are none."""
    found = facts.rates.unpriced
    if not found:
        return ""
    names = [
        (model or "A model without a name")
        + (f" ({number} {units(facts.resource, number)})" if number else "")
        for model, number in found[:NAMED_MODELS]
    ]
    if len(found) > NAMED_MODELS:
        names.append(counted(len(found) - NAMED_MODELS, "more model"))
    verb = "has no price and is" if len(found) == 1 else "have no price and are"
    return f" {listed(names)} {verb} left out."
