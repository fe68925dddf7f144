"""The price lists of an import: that of a row, or the chosen one of rows that name none (M19)."""

from collections.abc import Iterable, Mapping

from accounting.prices.actions.prices import PriceError, check_price_list, default_list
from accounting.prices.models.price import PriceList
from accounting.prices.rules.price_offers import ChosenList, Offer, PriceFileError

Lists = Mapping[tuple[str, str], PriceList]  # by kind and name


def lists_known() -> Lists:
    """Every list."""
    return {(one.kind, one.name): one for one in PriceList.objects.all()}


def list_number(text: str) -> int:
    """The number of a list that is named by its name or its number.

    Raises:
        PriceFileError: no list, or two.
    """
    found = [one for one in PriceList.objects.order_by("pk") if one.name == text]
    if len(found) > 1:
        numbers = " or ".join(f"{one.pk} ({one.kind})" for one in found)
        raise PriceFileError(f"two lists are named {text!r}; use a number: {numbers}")
    if not found and text.isascii() and text.isdigit() and len(text) < 10:
        found = list(PriceList.objects.filter(pk=int(text)))
    if not found:
        named = ", ".join(repr(one.name) for one in PriceList.objects.all())
        raise PriceFileError(
            f"there is no price list {text!r}; use one of: {named or 'none yet'}"
        )
    return found[0].pk


def chosen_list(number: int | None) -> ChosenList | None:
    """What rows without a list, kind or currency of their own take from the chosen list.

    Raises:
        PriceFileError: there is no such list.
    """
    if number is None:
        return None
    found = PriceList.objects.filter(pk=number).first()
    if found is None:
        raise PriceFileError(f"there is no price list {number}")
    return ChosenList(found.name, found.kind, found.currency)


def list_fault(offer: Offer, lists: Lists) -> str:
    """Why an offer cannot be in its list; "" if it can, or names none."""
    if not offer.price_list:
        return ""
    found = lists.get((offer.kind, offer.price_list))
    if found is None:
        named = [one for (_, name), one in lists.items() if name == offer.price_list]
        if not named:
            return f"price list {offer.price_list!r} is not known"
        found = named[0]
    try:
        check_price_list(found, [offer.kind], offer.currency)
    except PriceError as error:
        return f"{error}: this price is a {offer.kind} in {offer.currency}"
    return ""


def lists_of(offers: Iterable[Offer]) -> dict[tuple[str, str, str], PriceList]:
    """The list of each kind, currency and name; one without a name is the usual one."""
    known = lists_known()
    return {
        (kind, currency, name): known[kind, name]
        if name
        else default_list(kind, currency)
        for kind, currency, name in {
            (offer.kind, offer.currency, offer.price_list) for offer in offers
        }
    }
