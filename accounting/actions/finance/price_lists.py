"""Lists of prices: their names and sources (money.md M13)."""

from babel.numbers import list_currencies

from accounting.audit import Actor, act
from accounting.domain.core.written_text import hidden_fault
from accounting.locks import lock
from accounting.models import PriceKind, PriceList
from accounting.queries.database_clock import database_now
from accounting.rating.billing_settings import billing_at


class PriceListError(ValueError):
    """The list is not valid; nothing was changed.

    Attributes:
        field: the argument that is wrong.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class PriceListTakenError(PriceListError):
    """Another list of the kind has the name."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__("name", f"another list of the kind {kind} is named {name!r}")


def create_price_list(
    *, kind: str, name: str, currency: str, source: str = "", actor: Actor, reason: str
) -> PriceList:
    """Create a list without prices; its kind and currency are for good.

    Raises:
        PriceListError: a value that is not valid, or a list of costs that is not in the billing
            currency.
        PriceListTakenError: another list of the kind has the name.
    """
    if kind not in PriceKind.values:
        message = f"{kind!r} is not known; use {', '.join(PriceKind.values)}"
        raise PriceListError("kind", message)
    if currency not in list_currencies():
        message = f"{currency!r} is not an ISO 4217 currency, like EUR"
        raise PriceListError("currency", message)
    ours = billing_at(database_now()).currency
    if kind == PriceKind.COST and currency != ours:
        message = f"costs are in the billing currency, {ours}"
        raise PriceListError("currency", message)
    return _saved(PriceList(kind=kind, currency=currency), name, source, actor, reason)


def change_price_list(
    price_list: PriceList, *, name: str, source: str, actor: Actor, reason: str
) -> PriceList:
    """Rename a list, or change its source.

    Raises:
        PriceListError: a name that is not valid.
        PriceListTakenError: another list of the kind has the name.
    """
    return _saved(price_list, name, source, actor, reason)


def _saved(
    price_list: PriceList, name: str, source: str, actor: Actor, reason: str
) -> PriceList:
    name, source = name.strip(), source.strip()
    if not name or len(name) > 100:
        raise PriceListError("name", "the name has 1 to 100 characters")
    if fault := hidden_fault(name):
        raise PriceListError("name", f"the name {fault}")
    with act(actor, reason):
        lock("prices", 0)
        taken = PriceList.objects.filter(kind=price_list.kind, name=name)
        if taken.exclude(pk=price_list.pk).exists():
            raise PriceListTakenError(price_list.kind, name)
        price_list.name, price_list.source = name, source
        price_list.save()
    return price_list
