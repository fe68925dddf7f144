"""`manage.py prices import FILE`: imports a price list, after a dry run."""

import io
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from accounting.kit.audit import SYSTEM
from accounting.kit.commands.output import (
    FINDING,
    HIDDEN,
    WRONG_USE,
    until_closed,
    write_rows,
)
from accounting.prices.actions.import_lists import list_number
from accounting.prices.actions.price_import import (
    ImportOptions,
    check_price_file,
    import_price_file,
)
from accounting.prices.rules.price_import import PICKS, WORDS
from accounting.prices.rules.price_offers import Offer, PriceFileError
from accounting.prices.serializers.price_import import OfferSerializer

WANTED = ("taken", "same", "filtered")  # nothing that needs a decision


class Command(BaseCommand):
    """Exits with 0, with 1 if an offer was not taken, with 2 for wrong use (nothing was
    imported then).
    """

    help = (
        "Import a price list from CSV. Without --save it is a dry run that prints a word for "
        "every row, price column and model: " + ", ".join(WORDS) + "."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and how its columns become prices."""
        parser.add_argument("what", choices=["import"], help="what to do")
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--save", action="store_true", help="save the prices that are taken"
        )
        for option, form, text in (
            ("map", "FIELD=COLUMN", "per_gpu_hour=COLUMN:LIFECYCLE may repeat"),
            ("set", "FIELD=VALUE", "the same value for all rows"),
            ("where", "COLUMN=VALUE", "only such rows"),
            ("alias", "TEXT=MODEL", "the model that a text names"),
        ):
            parser.add_argument(
                f"--{option}", action="append", default=[], metavar=form, help=text
            )
        parser.add_argument(
            "--pick",
            choices=PICKS,
            default="",
            help="of several prices with the same scope",
        )
        parser.add_argument(
            "--keep-unknown",
            action="store_true",
            help="models that were never seen keep the spelling of the file",
        )
        parser.add_argument(
            "--price-list",
            default="",
            metavar="LIST",
            help="name or number of the list of rows that name none",
        )
        parser.add_argument(
            "--format", choices=["table", "csv", "json"], default="table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check or import, and print each offer with its word."""
        try:
            named = options["price_list"]
            asked = ImportOptions(
                maps=tuple(options["map"]),
                sets=tuple(options["set"]),
                wheres=tuple(options["where"]),
                aliases=tuple(options["alias"]),
                pick=options["pick"],
                keep_unknown=options["keep_unknown"],
                price_list=list_number(named) if named else None,
            )
            offers = _offers(options["file"], asked, saves=options["save"])
        except OSError as error:
            self._refuse(options["file"], f"cannot be read: {error.strerror}")
        except PriceFileError as error:
            self._refuse(options["file"], str(error))
        with until_closed():
            write_rows(OfferSerializer.each(offers), options["format"], self.stdout)
        self.stderr.write(_summary(offers, saves=options["save"]))
        if any(offer.word not in WANTED for offer in offers):
            sys.exit(FINDING)

    def _refuse(self, file: Path, fault: str) -> None:
        self.stderr.write(f"{file}: {fault}")
        sys.exit(WRONG_USE)


def _offers(file: Path, options: ImportOptions, *, saves: bool) -> list[Offer]:
    with file.open("rb") as raw:
        lines = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        if not saves:
            return check_price_file(lines, options)
        reason = f"prices import {file.name}"[:200]
        return import_price_file(lines, options, actor=SYSTEM, reason=reason)


def _summary(offers: list[Offer], *, saves: bool) -> str:
    counts = Counter(offer.word for offer in offers)
    warned = sum(bool(offer.warning) for offer in offers)
    parts = [f"{counts[word]} {word}" for word in reversed(WORDS) if counts[word]]
    ending = "saved" if saves else "dry run: nothing is saved; add --save"
    more = f"; {warned} with a warning" if warned else ""
    return f"{', '.join(parts) or 'no rows'}{more} ({ending})"
