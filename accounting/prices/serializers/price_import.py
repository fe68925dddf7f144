"""Offers of a price list with their words, as the import prints them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers

from accounting.kit.serializers.row import MomentField, MoneyField, RowSerializer
from accounting.prices.actions.price_import import ImportOptions
from accounting.prices.rules.price_import import PICKS, WORDS
from accounting.prices.rules.price_offers import PriceFileError


class PrintableField(serializers.CharField):
    """Text of a file; control characters are escaped."""

    def to_representation(self, value: Any) -> str:
        """The text, as it can be printed on a terminal."""
        text = str(value)
        return text if text.isprintable() else ascii(text)[1:-1]


class OfferSerializer(RowSerializer):
    """A price that a file offers, and what becomes of it."""

    line = serializers.IntegerField()
    column = PrintableField()
    text = PrintableField(help_text="the model as the file spells it")
    word = serializers.CharField()
    kind = PrintableField()
    model = PrintableField()
    cluster = PrintableField()
    profile = PrintableField()
    lifecycle = PrintableField()
    tier = PrintableField()
    currency = PrintableField()
    per_gpu_hour = MoneyField(source="price", allow_null=True)
    valid_from = MomentField(allow_null=True)
    valid_to = MomentField(allow_null=True)
    price_list = PrintableField(
        help_text="name of its list; empty: the usual one of its kind and currency"
    )
    warning = PrintableField(
        help_text="why a price that is taken is probably a mistake"
    )
    advice = PrintableField(
        help_text="why it is not taken, with the value as it was written"
    )


MOST_ROWS = 10_000
"""Of a file over REST and on the page; `manage.py prices import` takes a million."""


class PriceImportSerializer(RowSerializer):
    """What became of a file."""

    is_saved = serializers.BooleanField()
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="by word: " + ", ".join(WORDS)
    )
    rows = OfferSerializer(many=True)


class PriceImportBodySerializer(serializers.Serializer[Any]):
    """A file, and how it is read (money.md M19)."""

    OPTIONS: ClassVar = (
        *("map", "set", "where", "alias", "pick", "keep_unknown", "price_list"),
        *("dry_run", "reason"),
    )

    file = serializers.FileField(
        required=False, help_text=f"CSV in UTF-8, at most {MOST_ROWS:,} rows"
    )
    map = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        default=list,
        help_text="FIELD=COLUMN; per_gpu_hour=COLUMN:LIFECYCLE may repeat",
    )
    set = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        default=list,
        help_text="FIELD=VALUE, for all rows",
    )
    where = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        default=list,
        help_text="COLUMN=VALUE: only such rows",
    )
    alias = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        default=list,
        help_text="TEXT=MODEL that a text names",
    )
    pick = serializers.ChoiceField(
        choices=PICKS, required=False, default="", help_text="of several prices"
    )
    keep_unknown = serializers.BooleanField(required=False, default=False)
    price_list = serializers.IntegerField(
        required=False,
        default=None,
        min_value=1,
        max_value=2**31 - 1,
        help_text="id of the list of rows that name none, as of `price-lists`; such rows are of "
        "its kind and currency",
    )
    dry_run = serializers.BooleanField(
        required=False, default=True, help_text="false saves the prices that are taken"
    )
    reason = serializers.CharField(
        min_length=10, max_length=200, required=False, help_text="to save"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What is saved has a reason."""
        if not attrs["dry_run"] and not attrs.get("reason"):
            raise serializers.ValidationError({"reason": "Give a reason to save."})
        return attrs


def import_options(values: Mapping[str, Any]) -> ImportOptions:
    """The options of a body or form, by the names of `PriceImportBodySerializer`."""
    return ImportOptions(
        maps=tuple(values["map"]),
        sets=tuple(values["set"]),
        wheres=tuple(values["where"]),
        aliases=tuple(values["alias"]),
        pick=values["pick"],
        keep_unknown=values["keep_unknown"],
        price_list=values["price_list"],
        most_rows=MOST_ROWS,
    )


def text_of(data: bytes) -> str:
    """The text of an uploaded file, without a byte order mark.

    Raises:
        PriceFileError: not UTF-8, or a NUL character.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PriceFileError(f"not UTF-8: byte {error.start}") from None
    if "\0" in text:
        raise PriceFileError("the file contains a NUL character: save it as UTF-8")
    return text
