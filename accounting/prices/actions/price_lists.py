"""Lists of prices: their names and sources (money.md M13)."""

from babel.numbers import list_currencies

from accounting.access.reads.billing_settings import billing_at
from accounting.core.written_text import hidden_fault
from accounting.kit.audit import Actor, act
from accounting.kit.inputs import body, reason, value
from accounting.kit.locks import lock
from accounting.kit.outcomes import Done, RefusalCode, Refused
from accounting.kit.reads.database_clock import database_now
from accounting.prices.models.price import PriceKind, PriceList


@body("PriceListBody")
class CreatePriceList:
    """A list to create."""

    kind: str = value("`rate` or `cost`", size=(1, 4))
    name: str = value(size=(1, 100))
    currency: str = value(size=(1, 3))
    source: str = value(size=(0, 500), default="")
    reason: str = reason()


def create_price_list(given: CreatePriceList, actor: Actor) -> Done:
    """Create a list without prices; its kind and currency are for good.

    Raises:
        Refused: a value that is not valid, a list of costs that is not in the billing currency,
            or another list of the kind has the name.
    """
    kind, currency = given.kind, given.currency
    if kind not in PriceKind.values:
        raise Refused(
            f"{kind!r} is not known; use {', '.join(PriceKind.values)}", member="kind"
        )
    if currency not in list_currencies():
        raise Refused(
            f"{currency!r} is not an ISO 4217 currency, like EUR", member="currency"
        )
    ours = billing_at(database_now()).currency
    if kind == PriceKind.COST and currency != ours:
        raise Refused(f"costs are in the billing currency, {ours}", member="currency")
    made = PriceList(kind=kind, currency=currency)
    _save(made, given.name, given.source, actor, given.reason)
    return Done(made.pk, is_new=True)


def change_price_list(
    price_list: PriceList, *, name: str, source: str, actor: Actor, reason: str
) -> None:
    """Rename a list, or change its source.

    Raises:
        Refused: a name that is not valid, or that another list of the kind has.
    """
    _save(price_list, name, source, actor, reason)


def _save(
    price_list: PriceList, name: str, source: str, actor: Actor, why: str
) -> None:
    name, source = name.strip(), source.strip()
    if not name or len(name) > 100:
        raise Refused("the name has 1 to 100 characters", member="name")
    if fault := hidden_fault(name):
        raise Refused(f"the name {fault}", member="name")
    with act(actor, why):
        lock("prices", 0)
        kind = price_list.kind
        taken = PriceList.objects.filter(kind=kind, name=name)
        if taken.exclude(pk=price_list.pk).exists():
            raise Refused(
                f"another list of the kind {kind} is named {name!r}",
                RefusalCode.CONFLICT,
                "name",
            )
        price_list.name, price_list.source = name, source
        price_list.save()
