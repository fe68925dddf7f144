"""Rows of a price list as offers: one for each row, price column and model (money.md M19)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation

from accounting.prices.rules.model_spelling import Spelling
from accounting.prices.rules.price_advice import (
    LARGEST,
    PLACES,
    date_advice,
    number_advice,
)

FIELDS = (
    *("kind", "model", "cluster", "profile", "lifecycle", "tier", "currency"),
    *("per_gpu_hour", "valid_from", "valid_to", "source_note", "price_list"),
    *("memory", "count"),
)
"""What a column can be: the fields of a price, the name of its list, and `memory` (GiB) and
`count` of GPUs."""
PRICE = "per_gpu_hour"


class PriceFileError(ValueError):
    """The file or its options cannot be used; nothing was imported."""


@dataclass(frozen=True, slots=True)
class Columns:
    """How the columns of a file become fields.

    Attributes:
        named: field -> column, without prices.
        prices: (column, lifecycle) of each price; lifecycle "" is that of the row.
        constants: field -> value, for all rows.
        where: column -> the values of rows that are wanted.
    """

    named: Mapping[str, str]
    prices: tuple[tuple[str, str], ...]
    constants: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """A price that a file offers; `word` is why it is not taken, "" so far.

    Attributes:
        line: of the file, the header is line 1.
        column: of the price.
        text: the model as the file spells it.
        price_list: name of its list; "" for the usual one of its kind and currency.
        warning: why a price that is taken is probably a mistake (M13).
        advice: why it is not taken, with the value as it was written and what would be right.
    """

    line: int
    column: str
    text: str
    word: str = ""
    kind: str = "rate"
    model: str = ""
    cluster: str = ""
    profile: str = ""
    lifecycle: str = ""
    tier: str = ""
    price: Decimal | None = None
    currency: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    source_note: str = ""
    price_list: str = ""
    warning: str = ""
    advice: str = ""

    @property
    def sets(self) -> tuple[str, ...]:
        """Its kind and what it sets: two prices of the same must not overlap."""
        return (
            self.kind,
            self.model,
            self.cluster,
            self.profile,
            self.lifecycle,
            self.tier,
        )


@dataclass(frozen=True, slots=True)
class ChosenList:
    """The list of rows that name none; its kind and currency are those of such rows."""

    name: str
    kind: str
    currency: str


@dataclass(frozen=True, slots=True)
class Rules:
    """What the values of a row are checked against.

    Attributes:
        spelling: the known models.
        currencies: ISO 4217.
        billing_currency: of rows without a currency, and of all costs.
        instant: reads a date or a time; raises ValueError.
        check: raises PriceFileError for names that are not known.
        keep_unknown: a model that is not known keeps its spelling.
        own_name: the ledger's spelling of such a model.
        chosen: the list of rows that name none.
    """

    spelling: Spelling
    currencies: frozenset[str]
    billing_currency: str
    instant: Callable[[str], datetime]
    check: Callable[[Offer], Offer]
    keep_unknown: bool = False
    own_name: Callable[[str], str] = str
    chosen: ChosenList | None = None

    def completed(self, values: Mapping[str, str]) -> dict[str, str]:
        """The values of a row, with what it does not set."""
        kind, currency, name = "rate", self.billing_currency, values["price_list"]
        if self.chosen and not name:
            name = self.chosen.name
            kind, currency = self.chosen.kind, self.chosen.currency
        return {
            **values,
            "price_list": name,
            "kind": values["kind"] or kind,
            "currency": values["currency"] or currency,
        }


def offers_of(
    rows: Iterable[tuple[int, Mapping[str, str]]], columns: Columns, rules: Rules
) -> Iterator[Offer]:
    """The offers of a file in its order, each with the first word of its own values.

    Raises:
        PriceFileError: a kind, cluster, profile or lifecycle that is not known, with its line.
    """
    for line, cells in rows:
        is_wanted = all(
            cells[column].strip() in values for column, values in columns.where.items()
        )
        for column, lifecycle in columns.prices:
            values = {
                name: columns.constants.get(name, "").strip() for name in FIELDS
            } | {name: cells[own].strip() for name, own in columns.named.items()}
            values[PRICE] = (
                cells[column] if column else columns.constants[PRICE]
            ).strip()
            values["lifecycle"] = lifecycle or values["lifecycle"]
            offer = Offer(line, column or PRICE, values["model"])
            if not is_wanted:
                yield replace(offer, word="filtered")
            else:
                yield from _read(offer, values, rules)


def _read(offer: Offer, given: Mapping[str, str], rules: Rules) -> Iterator[Offer]:
    values = rules.completed(given)
    offer = replace(
        offer,
        kind=values["kind"],
        price_list=values["price_list"],
        cluster=values["cluster"],
        profile=values["profile"],
        lifecycle=values["lifecycle"],
        tier=values["tier"],
        source_note=values["source_note"],
    )
    count, memory = _number(values["count"]), _number(values["memory"])
    if values["count"] and count == 0:
        yield replace(offer, word="no_count")
        return
    if not values[PRICE]:
        yield replace(offer, word="no_price")
        return
    price = _number(values[PRICE])
    if price is None or not 0 <= price < LARGEST or price % PLACES:
        advice = number_advice(values[PRICE], price)
        yield replace(offer, word="bad_number", advice=advice)
        return
    offer = replace(offer, price=price)
    for name, number in (("count", count), ("memory", memory)):
        if values[name] and number is None:
            advice = f"{name}: {number_advice(values[name], None)}"
            yield replace(offer, word="bad_number", advice=advice)
            return
    yield from _dated(offer, values, memory, rules)


def _dated(
    offer: Offer, values: Mapping[str, str], memory: Decimal | None, rules: Rules
) -> Iterator[Offer]:
    currency = values["currency"]
    offer = replace(offer, currency=currency)
    if currency not in rules.currencies:
        advice = f"“{currency}” is not a currency: write its code, such as EUR"
        yield replace(offer, word="bad_currency", advice=advice)
        return
    if offer.kind == "cost" and currency != rules.billing_currency:
        advice = f"a cost is in {rules.billing_currency}, the currency of bills"
        yield replace(offer, word="bad_currency", advice=advice)
        return
    start, end = _instants(values, rules)
    if isinstance(start, str):
        yield replace(offer, word="bad_date", advice=start)
        return
    offer = replace(offer, valid_from=start, valid_to=end)
    if end is not None and end <= start:
        advice = f"it ends on {values['valid_to']}, which is not after its start"
        yield replace(offer, word="bad_date", advice=advice)
        return
    models = rules.spelling.models_of(offer.text, memory)
    if not models and rules.keep_unknown and _is_name(offer.text):
        models = (rules.own_name(offer.text),)
    if not models:
        yield replace(offer, word="unknown_model", advice=_model_advice(offer, rules))
    for model in models:
        yield rules.check(replace(offer, model=model))


def _instants(
    values: Mapping[str, str], rules: Rules
) -> tuple[datetime, datetime | None] | tuple[str, None]:
    """The start and the end; else why one of them is not valid."""
    found: list[datetime | None] = []
    for name in ("valid_from", "valid_to"):
        text = values[name]
        try:
            is_open = name == "valid_to" and not text
            found.append(None if is_open else rules.instant(text))
        except (ValueError, OverflowError):
            return date_advice(text), None
    start, end = found
    if start is None:
        raise TypeError("a price has a start")
    return start, end


def _model_advice(offer: Offer, rules: Rules) -> str:
    closest = rules.spelling.closest(offer.text)
    hint = f"did you mean {closest}? Otherwise name" if closest else "name"
    return (
        f"no GPU of “{offer.text}” was seen: {hint} its model as an alias, or keep models that "
        "were never seen"
    )


def _is_name(text: str) -> bool:
    return 0 < len(text) <= 200 and text.isprintable()


def _number(text: str) -> Decimal | None:
    """A plain decimal number of ASCII digits; None for anything else."""
    if not text.isascii() or len(text) > 40 or "_" in text:
        return None
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found.adjusted()) < 40 else None
