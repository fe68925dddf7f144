"""Resources of GPUs that an administrator named, beside those that the product knows."""

from fractions import Fraction

from accounting.models import AddedResource


def added_resources() -> dict[str, Fraction]:
    """The share of one GPU that a unit stands for, by Kubernetes' spelling."""
    return {row.resource: row.share for row in AddedResource.objects.all()}
