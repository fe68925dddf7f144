"""What configured labels of pods and nodes mean: workload type, lifecycle, owner, family."""

import pghistory
from django.db import models


class LabelPurpose(models.TextChoices):
    """The meaning of a configured label (`labels` of the setup file)."""

    WORKLOAD_TYPE = "workload_type"
    LIFECYCLE = "lifecycle"
    OWNER = "owner"
    FAMILY = "family"


@pghistory.track()
class LabelSpelling(models.Model):
    """One pod or node label whose value is of a purpose."""

    purpose = models.CharField(max_length=16, choices=LabelPurpose.choices)
    label = models.CharField(max_length=317)  # Kubernetes: prefix 253 + "/" + name 63
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["purpose", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["purpose", "label"], name="label_spelling_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.label} spells {self.purpose}"
