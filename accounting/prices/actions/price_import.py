"""Imports a price list into the price book: a dry run, then all or nothing (money.md M19)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256

from babel.numbers import list_currencies
from django.db import IntegrityError

from accounting.access.reads.billing_settings import billing_at, billing_remembered
from accounting.core.interval import to_instant, to_ms
from accounting.kit.audit import Actor, act
from accounting.kit.locks import lock
from accounting.kit.reads.database_clock import database_now
from accounting.kit.reads.dimensions import LIFECYCLES
from accounting.kit.reads.selection import parse_instant
from accounting.metering.models.cluster import Cluster, Gpu
from accounting.metering.rules.units.mig_profiles import fault_of, normal
from accounting.metering.sources.catalogue import normal_model
from accounting.prices.actions.import_lists import (
    Lists,
    chosen_list,
    list_fault,
    lists_known,
    lists_of,
)
from accounting.prices.actions.prices import BORDER_MS, reprice
from accounting.prices.models.price import PriceKind, PriceList, UnitPrice
from accounting.prices.reads.price_doubts import price_doubts
from accounting.prices.rules.model_spelling import Spelling
from accounting.prices.rules.price_doubts import DatedPrice
from accounting.prices.rules.price_file import (
    MOST_ROWS,
    aliases_of,
    columns_of,
    rows_of,
)
from accounting.prices.rules.price_import import PICKS, Booked, check_offers
from accounting.prices.rules.price_offers import Offer, PriceFileError, Rules, offers_of

Sets = tuple[str, ...]
LONGEST = {"tier": 253, "source_note": 500}
BATCH = 5_000


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is read; the texts are those of the command.

    Attributes:
        maps, sets, wheres: as for `columns_of`.
        aliases: TEXT=MODEL.
        pick: which of several prices of the same is taken.
        keep_unknown: models that are not known keep their spelling.
        price_list: number of the list of rows that name none; None for the usual ones.
        most_rows: that a file may have.
    """

    maps: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    wheres: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    pick: str = ""
    keep_unknown: bool = False
    price_list: int | None = None
    most_rows: int = MOST_ROWS


def check_price_file(lines: Iterable[str], options: ImportOptions) -> list[Offer]:
    """Dry run: the offers of a file, each with its word.

    Args:
        lines: of CSV text.
        options: how it is read.

    Raises:
        PriceFileError: the file or an option cannot be used.
    """
    if options.pick and options.pick not in PICKS:
        raise PriceFileError(f"pick {options.pick!r}: use {', '.join(PICKS)}")
    rows = rows_of(lines, options.most_rows)
    _, header = next(rows)
    columns = columns_of(list(header), options.maps, options.sets, options.wheres)
    with billing_remembered():
        found = list(offers_of(rows, columns, _rules(options)))
        booked = _booked()
        return _doubted(check_offers(found, booked, options.pick), booked)


def digest_of(offers: Iterable[Offer]) -> str:
    """What became of the offers of a file: equal for equal results."""
    digest = sha256()
    for offer in offers:
        digest.update(repr(offer).encode())
    return digest.hexdigest()


def import_price_file(
    lines: Iterable[str],
    options: ImportOptions,
    *,
    actor: Actor,
    reason: str,
    seen: str | None = None,
) -> list[Offer]:
    """Import the offers of a file that are taken, all or none; returns all with their words.

    A price without an end ends the one in effect. The affected hours are rolled up again.

    Args:
        lines, options: as for `check_price_file`.
        actor: who imports.
        reason: for the audit log.
        seen: the digest of the dry run that a person saw; None for none.

    Raises:
        PriceFileError: the file or an option cannot be used, or the price book changed
            meanwhile; nothing was imported.
    """
    try:
        with act(actor, reason):
            lock("prices", 0)
            offers = check_price_file(lines, options)
            if seen is not None and seen != digest_of(offers):
                raise PriceFileError(
                    "the price book changed since this check: check the result again"
                )
            taken = [offer for offer in offers if offer.word == "taken"]
            _save(taken)
    except IntegrityError as error:
        raise PriceFileError(
            "the price book changed during the import: run it again"
        ) from error
    return offers


def _rules(options: ImportOptions) -> Rules:
    models = {
        *Gpu.objects.exclude(model="").values_list("model", flat=True).distinct(),
        *UnitPrice.objects.values_list("model", flat=True).distinct(),
    }
    clusters = frozenset(Cluster.objects.values_list("name", flat=True))
    lists = lists_known()
    aliases = {
        text: normal_model(model) for text, model in aliases_of(options.aliases).items()
    }
    return Rules(
        spelling=Spelling(models, aliases),
        currencies=frozenset(list_currencies()),
        billing_currency=billing_at(database_now()).currency,
        instant=lru_cache(maxsize=4096)(_instant),
        check=lambda offer: _checked(offer, clusters, lists),
        keep_unknown=options.keep_unknown,
        own_name=normal_model,
        chosen=chosen_list(options.price_list),
    )


def _instant(text: str) -> datetime:
    """A time of a file, such as that of a spot price with seconds.

    The next window is the first to which it applies in any case (rules.md N24).
    """
    at_ms = to_ms(parse_instant(text))
    return to_instant(at_ms + -at_ms % BORDER_MS)


def _checked(offer: Offer, clusters: frozenset[str], lists: Lists) -> Offer:
    """The offer with its profile as the ledger spells it.

    Raises:
        PriceFileError: a name that is not known, with its line.
    """
    offer = replace(offer, profile=normal(offer.profile))
    lifecycles = ("", *(name for name in LIFECYCLES if name != "unknown"))
    fault = ""
    if offer.kind not in PriceKind.values:
        fault = f"kind {offer.kind!r} is not known; use {', '.join(PriceKind.values)}"
    elif offer.lifecycle not in lifecycles:
        named = ", ".join(filter(None, lifecycles))
        fault = f"lifecycle {offer.lifecycle!r} is not known; use {named}"
    elif offer.cluster and offer.cluster not in clusters:
        fault = f"cluster {offer.cluster!r} is not known"
    elif offer.kind == PriceKind.COST and (offer.profile or offer.tier):
        fault = "a cost is of whole GPUs: it has no profile and no tier"
    elif offer.profile:
        fault = fault_of(offer.profile, offer.model) or ""
    fault = fault or list_fault(offer, lists)
    for name, longest in LONGEST.items():
        text = getattr(offer, name)
        if len(text) > longest or not text.isprintable():
            fault = f"{name} is longer than {longest} or has control characters"
    if fault:
        raise PriceFileError(f"line {offer.line}: {fault}")
    return offer


def _booked() -> Mapping[Sets, list[Booked]]:
    found: dict[Sets, list[Booked]] = defaultdict(list)
    for row in UnitPrice.objects.select_related("cluster"):
        sets = _sets(row)
        amount = row.rate_per_gpu_hour
        found[sets].append(
            Booked(sets, amount, row.currency, row.valid_from, row.valid_to)
        )
    return found


def _doubted(offers: list[Offer], booked: Mapping[Sets, list[Booked]]) -> list[Offer]:
    """The offers; those taken that are probably a mistake have a warning (M13)."""
    taken = [number for number, offer in enumerate(offers) if offer.word == "taken"]
    book = [
        _dated(one.sets, one.price, one.currency, one.valid_from)
        for prices in booked.values()
        for one in prices
    ]
    new = [
        _dated(one.sets, one.price, one.currency, one.valid_from)
        for one in (offers[number] for number in taken)
    ]
    for number, doubt in zip(taken, price_doubts(new, book), strict=True):
        if doubt:
            offers[number] = replace(offers[number], warning=doubt.text)
    return offers


def _dated(
    sets: Sets, price: Decimal | None, currency: str, start: datetime | None
) -> DatedPrice:
    if price is None or start is None:
        raise TypeError("an offer that is taken has a price and a start")
    kind, model, cluster, profile, lifecycle, tier = sets
    return DatedPrice(
        *(kind, model, cluster or None, profile, lifecycle, tier),
        *(price, currency, start),
    )


def _sets(row: UnitPrice) -> Sets:
    cluster = row.cluster.name if row.cluster else ""
    return row.kind, row.model, cluster, row.profile, row.lifecycle, row.tier


def _save(taken: list[Offer]) -> None:
    if not taken:
        return
    starts: dict[Sets, list[datetime]] = defaultdict(list)
    for offer in taken:
        if offer.valid_from is not None:
            starts[offer.sets].append(offer.valid_from)
    for row in UnitPrice.objects.select_related("cluster").select_for_update(
        of=["self"]
    ):
        ends = [
            at
            for at in starts.get(_sets(row), ())
            if row.valid_from < at and (row.valid_to is None or at < row.valid_to)
        ]
        if ends:
            row.valid_to = min(ends)
            row.save(update_fields=["valid_to"])
    lists = lists_of(taken)
    clusters = {cluster.name: cluster for cluster in Cluster.objects.all()}
    UnitPrice.objects.bulk_create(
        (
            _row(
                offer,
                lists[offer.kind, offer.currency, offer.price_list],
                clusters.get(offer.cluster),
            )
            for offer in taken
        ),
        batch_size=BATCH,
    )
    _reprice(taken)


def _row(offer: Offer, price_list: PriceList, cluster: Cluster | None) -> UnitPrice:
    if offer.price is None or offer.valid_from is None:
        raise TypeError("an offer that is taken has a price and a start")
    return UnitPrice(
        kind=offer.kind,
        price_list=price_list,
        model=offer.model,
        profile=offer.profile,
        lifecycle=offer.lifecycle,
        cluster=cluster,
        tier=offer.tier,
        currency=offer.currency,
        rate_per_gpu_hour=offer.price,
        valid_from=offer.valid_from,
        valid_to=offer.valid_to,
        source_note=offer.source_note,
    )


def _reprice(taken: list[Offer]) -> None:
    """Mark the hours from the first price of each model on."""
    first: dict[str, datetime] = {}
    for offer in taken:
        if offer.valid_from is not None:
            known = first.get(offer.model, offer.valid_from)
            first[offer.model] = min(known, offer.valid_from)
    used = set(Gpu.objects.values_list("model", flat=True).distinct())
    for model, since in first.items():
        if model in used:
            reprice(since, model)
