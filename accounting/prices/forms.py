"""The form of a price. It only validates and converts input."""

from typing import Any

from django import forms

from accounting.kit.forms import REASON, AccessibleForm, DayField
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.units.mig_profiles import fault_of, normal
from accounting.metering.sources.catalogue import normal_model
from accounting.prices.actions.prices import PriceError, check_price_list
from accounting.prices.models.price import PriceKind, PriceList


class PriceForm(AccessibleForm):
    """A price that is valid from a day on; it must match a model, the rest is optional (N26)."""

    model = forms.CharField(
        max_length=200,
        label="GPU model",
        help_text="The exporter's name for the model, for example NVIDIA-H100-80GB-HBM3.",
        widget=forms.TextInput(attrs={"list": "models", "autocomplete": "off"}),
    )
    profile = forms.CharField(
        max_length=64,
        required=False,
        label="MIG profile",
        help_text="For example 1g.10gb. If empty, any profile. The rate is still per full "
        "GPU-hour.",
    )
    rate_per_gpu_hour = forms.DecimalField(
        max_digits=12,
        decimal_places=6,
        min_value=0,
        required=False,
        label="Rate per GPU-hour",
        help_text="What teams are charged. Give a rate, a cost or both.",
    )
    cost_per_gpu_hour = forms.DecimalField(
        max_digits=12,
        decimal_places=6,
        min_value=0,
        required=False,
        label="Cost per GPU-hour",
        help_text="What a GPU-hour costs the organization, without a profile and a tier.",
    )
    lifecycle = forms.ChoiceField(
        choices=(
            ("", "Any"),
            ("on-demand", "On demand"),
            ("spot", "Spot"),
            ("reserved", "Reserved"),
        ),
        required=False,
    )
    tier = forms.CharField(
        max_length=253,
        required=False,
        help_text="A PriorityClass. If empty, any.",
        widget=forms.TextInput(attrs={"list": "tiers", "autocomplete": "off"}),
    )
    cluster = forms.ModelChoiceField(
        queryset=Cluster.objects.order_by("name"),
        to_field_name="name",
        required=False,
        empty_label="Any cluster",
    )
    valid_from = DayField(
        label="Valid from",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="A billing day. An earlier day changes amounts that are already shown. For a "
        "model without a price, use the first day on which it was seen.",
    )
    price_list = forms.ModelChoiceField(
        queryset=PriceList.objects.order_by("kind", "name"),
        required=False,
        empty_label="The usual one",
        label="List",
        help_text="The price is in the currency of its list.",
    )
    source_note = forms.CharField(
        max_length=500,
        required=False,
        label="Source",
        help_text="For example a contract or a price list.",
    )
    is_sure = forms.BooleanField(required=False, label="The price is right")
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def clean_model(self) -> str:
        """The model in the ledger's spelling."""
        return normal_model(self.cleaned_data["model"])

    def clean(self) -> dict[str, Any]:
        """Check that the model has the profile."""
        found: dict[str, Any] = super().clean() or {}
        profile, model = normal(found.get("profile", "")), found.get("model")
        if profile and model and (fault := fault_of(profile, model)):
            self.add_error("profile", fault)
        rate, cost = found.get("rate_per_gpu_hour"), found.get("cost_per_gpu_hour")
        if rate is None and cost is None and "rate_per_gpu_hour" not in self.errors:
            self.add_error("rate_per_gpu_hour", "Enter a rate, a cost or both.")
        if cost is not None and (profile or found.get("tier")):
            self.add_error(
                "cost_per_gpu_hour",
                "A cost is of whole GPUs: it has no profile and no tier.",
            )
        amounts = {PriceKind.RATE: rate, PriceKind.COST: cost}
        kinds = [kind for kind, amount in amounts.items() if amount is not None]
        price_list: PriceList | None = found.get("price_list")
        if price_list and kinds:
            try:
                check_price_list(price_list, kinds, price_list.currency)
            except PriceError as error:
                text = str(error)
                self.add_error("price_list", f"{text[:1].upper()}{text[1:]}.")
        return found | {"profile": profile}
