"""The form of a what-if: one scenario over recorded weeks (scheduling.md S36)."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms

from accounting.kit.forms import AccessibleForm
from scheduler_view.what_if.rules.policies.catalogue import OFFERED

Choices = Sequence[tuple[str, str]]
_AS_NOW = ("", "As it was")


class WhatIfForm(AccessibleForm):
    """What would be different. Everything but the cluster, the weeks and the name may be empty."""

    cluster = forms.ChoiceField()
    weeks = forms.IntegerField(min_value=1, max_value=26, initial=4, label="Last weeks")
    name = forms.CharField(max_length=100, initial="What if", label="Name")
    model = forms.ChoiceField(required=False, label="GPU model")
    change = forms.IntegerField(
        required=False,
        min_value=-1_000_000,
        max_value=1_000_000,
        label="More or fewer GPUs",
        help_text="Such as 16 or -8. Whole nodes are added or taken away.",
    )
    policy = forms.ChoiceField(
        required=False,
        choices=[_AS_NOW, *((name, name) for name in OFFERED)],
        label="Placement",
    )
    team = forms.ChoiceField(required=False, label="Team with another quota")
    quota = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        decimal_places=3,
        label="Its quota in GPUs",
    )
    rate = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        decimal_places=6,
        label="Rate of a GPU-hour",
        help_text="For the cost of more or fewer GPUs, and of what moves to spot.",
    )
    spot_share = forms.DecimalField(
        required=False,
        min_value=Decimal("0.01"),
        max_value=100,
        decimal_places=2,
        label="Percent on spot",
        help_text="Of the batch and training work that may be interrupted.",
    )
    spot_preempted = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=10_000,
        decimal_places=6,
        label="Preemptions a day",
        help_text="Of a pod that runs on spot, on average. 5% a month are 0.0017.",
    )
    spot_checkpoint = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=100_000,
        label="Minutes between checkpoints",
        help_text="Empty: preempted pods start from the beginning.",
    )
    spot_rate = forms.DecimalField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        decimal_places=6,
        label="Rate of a GPU-hour on spot",
    )
    any_model = forms.BooleanField(
        required=False, label="Pods accept any GPU model of their resource"
    )

    def __init__(
        self, data: Any, *, clusters: Choices, models: Choices, teams: Choices
    ) -> None:
        self._clusters, self._models, self._teams = clusters, models, teams
        super().__init__(data)

    def prepare(self) -> None:
        """The clusters, the models of their nodes, and the teams."""
        for name, choices in (
            ("cluster", self._clusters),
            ("model", [("", "No change"), *self._models]),
            ("team", [("", "No change"), *self._teams]),
        ):
            self.offer(name, choices)

    def clean(self) -> dict[str, Any]:
        """A model needs a number of GPUs, a team a quota, spot its preemptions; and vice versa."""
        found = self.cleaned_data
        for first, second, text in (
            (
                "model",
                "change",
                "Choose a GPU model and enter how many GPUs more or fewer.",
            ),
            ("team", "quota", "Choose a team and enter its quota."),
            (
                "spot_share",
                "spot_preempted",
                "Enter how many percent run on spot and how often pods are preempted there.",
            ),
        ):
            if (found.get(first) in ("", None)) != (found.get(second) is None):
                raise forms.ValidationError(text)
        if found.get("spot_share") is None:
            for name in ("spot_checkpoint", "spot_rate"):
                if found.get(name) is not None:
                    raise forms.ValidationError("Enter how many percent run on spot.")
        return found

    def values(self) -> dict[str, Any]:
        """The request of a valid form, as in a file."""
        found = self.cleaned_data
        scenario: dict[str, Any] = {
            "name": found["name"],
            "any_model": found["any_model"],
        }
        if found["policy"]:
            scenario["policy"] = found["policy"]
        if found["model"]:
            resource, _, model = found["model"].partition(" ")
            change = {"model": model, "resource": resource, "change": found["change"]}
            scenario["gpus"] = [change]
        if found["team"]:
            scenario["quotas"] = {found["team"]: str(found["quota"])}
        if found["spot_share"] is not None:
            scenario["spot"] = _spot(found)
        values = {
            "cluster": found["cluster"],
            "weeks": found["weeks"],
            "scenarios": [scenario],
        }
        if found["rate"] is not None:
            values["rate"] = str(found["rate"])
        return values


def _spot(found: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a request about spot, as in a file."""
    values = {
        "share": str(found["spot_share"] / 100),
        "preempted_per_day": str(found["spot_preempted"]),
    }
    if found["spot_checkpoint"] is not None:
        values["checkpoint_minutes"] = found["spot_checkpoint"]
    if found["spot_rate"] is not None:
        values["rate"] = str(found["spot_rate"])
    return values
