"""Which offers of a price list are taken into the price book (money.md M19).

Every offer gets a word: `taken`, or the first reason why it is not.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from accounting.prices.rules.price_offers import Offer

WORDS = (
    *("filtered", "no_count", "no_price", "bad_number", "bad_currency", "bad_date"),
    *("unknown_model", "absurd", "conflict", "same", "overlap", "taken"),
)
"""Each offer gets the first of these that fits."""
PICKS = ("lowest", "highest", "median", "first")
MOST_TIMES = 100  # from the median to a price that is absurd
_OVERLAPS = (
    "another price with the same scope is in effect then: change its start or its end"
)


@dataclass(frozen=True, slots=True)
class Booked:
    """A price that is in the book; valid in [from, to)."""

    sets: tuple[str, ...]
    price: Decimal
    currency: str
    valid_from: datetime
    valid_to: datetime | None


def check_offers(
    offers: Iterable[Offer],
    booked: Mapping[tuple[str, ...], Sequence[Booked]],
    pick: str = "",
) -> list[Offer]:
    """Give each offer its word, in the order of the file; those taken have their end.

    Args:
        offers: with the words of their own values.
        booked: the prices of the book, by what they set.
        pick: which one of several prices of the same is taken: one of PICKS; "" for none.
    """
    found = list(offers)
    far = f"more than {MOST_TIMES} times from the median of this model in the file"
    _mark(found, _absurd(found), "absurd", f"{far}: check its unit and its decimals")
    _repeated(found, pick)
    _placed(found, booked)
    return found


def _open(found: Sequence[Offer]) -> list[int]:
    return [number for number, offer in enumerate(found) if not offer.word]


def _mark(
    found: list[Offer], numbers: Iterable[int], word: str, advice: str = ""
) -> None:
    for number in numbers:
        found[number] = replace(found[number], word=word, advice=advice)


def _price(offer: Offer) -> Decimal:
    if offer.price is None:
        raise TypeError("an offer without a word has a price")
    return offer.price


def _start(offer: Offer) -> datetime:
    if offer.valid_from is None:
        raise TypeError("an offer without a word has a start")
    return offer.valid_from


def lower_median(prices: Iterable[Decimal]) -> Decimal:
    """The middle price, and the lower of two."""
    ordered = sorted(prices)
    return ordered[(len(ordered) - 1) // 2]


def _absurd(found: Sequence[Offer]) -> list[int]:
    """Offers far from the median of their model and currency."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number in _open(found):
        groups[found[number].model, found[number].currency].append(number)
    absurd = []
    for numbers in groups.values():
        median = lower_median(_price(found[number]) for number in numbers)
        for number in numbers:
            price = _price(found[number])
            if price > MOST_TIMES * median or price * MOST_TIMES < median:
                absurd.append(number)
    return absurd


def _repeated(found: list[Offer], pick: str) -> None:
    """Offers of the same price with the same dates: one is taken, if any."""
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number in _open(found):
        offer = found[number]
        groups[offer.sets, offer.valid_from, offer.valid_to].append(number)
    for numbers in groups.values():
        amounts = [(_price(found[n]), found[n].currency) for n in numbers]
        chosen = _picked(amounts, pick)
        is_above = False
        for number, amount in zip(numbers, amounts, strict=True):
            if amount != chosen:
                advice = "the file has several prices with the same scope from this day: choose one"
                _mark(found, [number], "conflict", advice)
            elif is_above:
                _mark(found, [number], "same")
            else:
                is_above = True


def _picked(
    offers: Sequence[tuple[Decimal, str]], pick: str
) -> tuple[Decimal, str] | None:
    """The price that is taken of several; None for none."""
    if len(set(offers)) == 1 or pick == "first":
        return offers[0]
    if not pick or len({currency for _, currency in offers}) > 1:
        return None
    prices = [price for price, _ in offers]
    ordered = sorted(prices)
    by_pick = {
        "lowest": ordered[0],
        "highest": ordered[-1],
        "median": lower_median(prices),
    }
    return by_pick[pick], offers[0][1]


def _placed(
    found: list[Offer], booked: Mapping[tuple[str, ...], Sequence[Booked]]
) -> None:
    """Give open offers their end, and refuse what overlaps a price before it or in the book."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number in _open(found):
        groups[found[number].sets].append(number)
    for sets, numbers in groups.items():
        known = sorted(booked.get(sets, ()), key=lambda one: one.valid_from)
        for number in numbers:
            word = _word_beside(found[number], known)
            _mark(found, [number], word, _OVERLAPS if word == "overlap" else "")
        fitting = [number for number in numbers if not found[number].word]
        _in_order(found, sorted(fitting, key=lambda n: _start(found[n])), known)


def _in_order(
    found: list[Offer], ordered: Sequence[int], known: Sequence[Booked]
) -> None:
    """Take offers by their start; one without an end ends where the next price begins."""
    starts = sorted(
        [*(_start(found[n]) for n in ordered), *(one.valid_from for one in known)]
    )
    until: datetime | None = None  # where the latest one taken ends
    is_first = True
    for number in ordered:
        offer, start = found[number], _start(found[number])
        if not is_first and (until is None or until > start):
            found[number] = replace(offer, word="overlap", advice=_OVERLAPS)
            continue
        later = starts[bisect_right(starts, start) :]
        end = offer.valid_to or (later[0] if later else None)
        found[number] = replace(offer, word="taken", valid_to=end)
        until, is_first = end, False


def _word_beside(offer: Offer, known: Sequence[Booked]) -> str:
    """Why an offer does not fit beside the book; "" if it does.

    One without an end fits: it ends the price in effect.
    """
    start, end = _start(offer), offer.valid_to
    for one in known:
        if one.valid_from == start:
            is_same = (one.price, one.currency) == (_price(offer), offer.currency)
            return "same" if is_same and end in (None, one.valid_to) else "overlap"
    meets = end is not None and any(
        one.valid_from < end and (one.valid_to is None or start < one.valid_to)
        for one in known
    )
    return "overlap" if meets else ""
