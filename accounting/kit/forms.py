"""Forms of admin pages and of the account page. They only validate and convert input."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.core.validators import MaxValueValidator, MinValueValidator

from accounting.actions.finance.prices import PriceError, check_price_list
from accounting.actions.tokens import SCOPES
from accounting.domain.core.billing_calendar import DAY, time_zones
from accounting.domain.core.written_text import glob_fault, hidden_fault
from accounting.domain.units.mig_profiles import fault_of, normal
from accounting.models import BindingKind, Cluster, PriceKind, PriceList, Team
from accounting.queries.selection import FIRST, LAST
from accounting.sources.catalogue import normal_model

THEMES = (("system", "Same as system"), ("light", "Light"), ("dark", "Dark"))
DENSITIES = (("comfortable", "Comfortable"), ("compact", "Compact"))
LIFETIMES = ((30, "30 days"), (90, "90 days"), (180, "180 days"), (365, "One year"))
CHOOSING = (
    "At least 8 characters. Not a common password, not only digits, "
    "and not similar to your name."
)
HIDDEN = "hidden"  # the code of the error about characters that cannot be seen
REASON = "Recorded in the audit log. 10 to 200 characters."


class AccessibleForm(forms.Form):
    """Links each field to its help and error text, and marks fields with errors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepare()
        for field in self.fields.values():
            _refuse_hidden(field)
        for name, bound in self.fields.items():
            described = []
            if bound.help_text:
                described.append(f"id_{name}_help")
            if self.is_bound and name in self.errors:
                bound.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}_error")
            if described:
                bound.widget.attrs["aria-describedby"] = " ".join(described)

    def prepare(self) -> None:
        """Set properties of fields that depend on the caller; runs before validation."""


def _refuse_hidden(field: forms.Field) -> None:
    """Let a field of text refuse characters that cannot be seen; a password may have any."""
    is_written = isinstance(field, forms.CharField) and not field.widget.is_hidden
    if not is_written or isinstance(field.widget, forms.PasswordInput):
        return
    has_lines = isinstance(field.widget, forms.Textarea)

    def check(value: str | list[str]) -> None:
        text = value if isinstance(value, str) else "\n".join(value)
        if fault := hidden_fault(text, has_lines=has_lines):
            raise forms.ValidationError(f"This text {fault}.", HIDDEN)

    field.validators = [*field.validators, check]


def between(first: date, after: date) -> tuple[MinValueValidator, MaxValueValidator]:
    """Validators of a day or an instant: the limits of the API (N30)."""
    text = "Enter a time between the years 1970 and 9998."
    return MinValueValidator(first, text), MaxValueValidator(after, text)


class DayField(forms.DateField):
    """A billing day that is a valid instant in every time zone."""

    def __init__(self, **options: Any) -> None:
        limits = between(FIRST.date() + DAY, LAST.date() - DAY)
        super().__init__(validators=limits, **options)


class PreferencesForm(AccessibleForm):
    """One or more preferences of a person; missing fields do not change."""

    theme = forms.ChoiceField(choices=THEMES, required=False)
    density = forms.ChoiceField(choices=DENSITIES, required=False)
    timezone = forms.CharField(
        required=False,
        label="Time zone of labels",
        help_text="An IANA name such as Europe/Berlin. If empty, the billing time zone is used.",
    )

    def clean_timezone(self) -> str:
        """An existing time zone, or empty."""
        name: str = self.cleaned_data["timezone"]
        if name and name not in time_zones():
            raise forms.ValidationError(f"{name} is not a valid time zone.")
        return name


class NewPasswordForm(AccessibleForm, SetPasswordForm):  # type: ignore[type-arg]
    """A password for an account without one, or whose password is lost."""

    new_password1, new_password2 = SetPasswordForm.create_password_fields(
        label1="New password", label2="New password again"
    )
    new_password1.help_text = CHOOSING
    new_password2.help_text = ""


class PasswordForm(NewPasswordForm, PasswordChangeForm):
    """A new password for the current person; requires the current password."""

    old_password = forms.CharField(
        label="Current password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    revokes_tokens = forms.BooleanField(
        required=False,
        label="Also revoke my API tokens",
        help_text="If another person may know your password, they may have created one.",
    )


class TokenForm(AccessibleForm):
    """A new API token."""

    name = forms.CharField(
        max_length=100, help_text="What uses the token, for example: monthly sheet."
    )
    days = forms.TypedChoiceField(
        choices=LIFETIMES, coerce=int, initial=90, label="Expires after"
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple,
        initial=["read:usage"],
        label="Can",
        help_text="A token never has more permissions than you have.",
    )


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


class RetirementForm(AccessibleForm):
    """The time from which a cluster is retired; empty while it is in use."""

    retired = forms.DateTimeField(
        required=False,
        label="Retired from",
        help_text="Time after this moment is not counted.",
        validators=between(FIRST + DAY, LAST - DAY),
        widget=forms.DateTimeInput(
            attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"
        ),
    )
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class TeamField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A choice of teams by their name, not by slug."""

    def label_from_instance(self, obj: Team) -> str:
        """The text of an option."""
        return obj.name


class BindingForm(AccessibleForm):
    """A rule that assigns usage to a team."""

    kind = forms.ChoiceField(choices=BindingKind.choices, label="Match by")
    label = forms.CharField(
        max_length=317,
        required=False,
        label="Label key",
        help_text="Required for label rules, for example team or example.com/team.",
    )
    glob = forms.CharField(
        max_length=253,
        label="Value",
        help_text="A name, or a pattern with * and ?, for example vision-*.",
        widget=forms.TextInput(attrs={"list": "values", "autocomplete": "off"}),
    )
    team = TeamField(
        queryset=Team.objects.order_by("name"),
        to_field_name="slug",
        empty_label="Select a team",
        error_messages={"required": "Select the team that receives the usage."},
    )
    valid_from = DayField(
        label="Valid from",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="A billing day. Hours from this day on are recomputed; metrics are not read "
        "again.",
    )
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def clean(self) -> dict[str, Any]:
        """Check that a label rule has a key and a namespace rule has none."""
        found: dict[str, Any] = super().clean() or {}
        is_label = found.get("kind") != BindingKind.NAMESPACE
        if is_label and not found.get("label"):
            self.add_error("label", "A label rule requires a label key.")
        if not is_label and found.get("label"):
            self.add_error("label", "A namespace rule does not have a label key.")
        if fault := glob_fault(found.get("glob", ""), is_namespace=not is_label):
            self.add_error("glob", f"This value {fault}.")
        return found


class EndForm(AccessibleForm):
    """The day on which something ends."""

    valid_to = DayField(
        label="Ends on",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="The first billing day without the rule.",
    )
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class KubeStateJobForm(AccessibleForm):
    """Whether a job of kube-state is accepted, and why."""

    accepted = forms.ChoiceField(
        choices=[("yes", "yes"), ("no", "no")], widget=forms.HiddenInput
    )
    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def tomorrow(today: date) -> date:
    """The default first day of a change: no shown number changes."""
    return today + timedelta(days=1)
