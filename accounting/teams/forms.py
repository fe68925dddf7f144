"""Forms about which usage belongs to which team."""

from typing import Any

from django import forms

from accounting.access.models.teams import BindingKind, Team
from accounting.core.written_text import glob_fault
from accounting.kit.forms import REASON, AccessibleForm, DayField, TeamField


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
