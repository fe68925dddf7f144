"""Forms about clusters and their jobs of kube-state-metrics."""

from django import forms

from accounting.core.billing_calendar import DAY
from accounting.kit.forms import REASON, AccessibleForm, between
from accounting.kit.reads.selection import FIRST, LAST


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
