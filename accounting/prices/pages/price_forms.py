"""What the forms of price lists and of imports accept."""

from collections.abc import Iterable
from typing import Any

from django import forms

from accounting.kit.forms import REASON, AccessibleForm
from accounting.prices.models.price import PriceKind, PriceList
from accounting.prices.rules.price_import import PICKS
from accounting.prices.rules.price_offers import Offer

_REPEATED = {
    "map": ("Columns", "FIELD=COLUMN, one per line, such as per_gpu_hour=USD:spot."),
    "set": ("Same for all rows", "FIELD=VALUE, one per line, such as currency=USD."),
    "where": ("Only rows with", "COLUMN=VALUE, one per line."),
    "alias": ("Names of models", "TEXT=MODEL, one per line."),
}
OPTIONS = (*_REPEATED, "pick", "keep_unknown", "price_list")


def _reason() -> forms.CharField:
    return forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class PriceListChangeForm(AccessibleForm):
    """The name and source of a list."""

    name = forms.CharField(max_length=100)
    source = forms.CharField(
        max_length=500, required=False, help_text="For example a contract."
    )
    reason = _reason()


class PriceListForm(PriceListChangeForm):
    """A new list; its kind and currency are for good."""

    kind = forms.ChoiceField(choices=PriceKind.choices)
    currency = forms.CharField(max_length=3, help_text="ISO 4217, for example EUR.")
    field_order = ("kind", "name", "currency", "source", "reason")


class LinesField(forms.CharField):
    """Texts, one per line."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        """The lines that are not empty."""
        text = super().to_python(value) or ""
        return [line.strip() for line in text.splitlines() if line.strip()]


class PriceFileForm(AccessibleForm):
    """A file, and how it is read."""

    file = forms.FileField(
        label="CSV file",
        help_text="UTF-8 with a header, at most 10,000 rows and 2 MB.",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )
    price_list = forms.ModelChoiceField(
        queryset=PriceList.objects.order_by("kind", "name"),
        required=False,
        empty_label="The usual ones",
        label="List",
        help_text="For rows that name no list. A row without a kind or currency gets that of the "
        "list.",
    )
    map, set, where, alias = (  # the names of REST
        LinesField(
            required=False,
            label=label,
            help_text=text,
            widget=forms.Textarea(attrs={"rows": 2}),
        )
        for label, text in _REPEATED.values()
    )
    pick = forms.ChoiceField(
        choices=(("", "None of them"), *((one, one.capitalize()) for one in PICKS)),
        required=False,
        label="Of several prices with the same scope",
    )
    keep_unknown = forms.BooleanField(
        required=False, label="Keep models that were never seen"
    )

    def clean_price_list(self) -> int | None:
        """The number of the list."""
        chosen: PriceList | None = self.cleaned_data["price_list"]
        return chosen.pk if chosen else None


class PriceDraftForm(AccessibleForm):
    """Saves a draft as it was checked."""

    seen = forms.CharField(widget=forms.HiddenInput)
    reason = _reason()


class PriceImportForm(PriceFileForm):
    """The text of a file that was checked, to be saved."""

    file = None  # type: ignore[assignment]  # its text is in the form
    text = forms.CharField(strip=False, widget=forms.HiddenInput)
    seen = forms.CharField(widget=forms.HiddenInput)
    reason = _reason()


def sentence_of(error: Exception) -> str:
    """What is wrong with a file, as a sentence."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def saved_text(offers: Iterable[Offer]) -> str:
    """What was saved, as a message."""
    count = sum(offer.word == "taken" for offer in offers)
    return (
        f"{count} price{'' if count == 1 else 's'} saved. The affected hours are recomputed within "
        "minutes."
    )
