"""GPU resources that an administrator added to the ones that the product knows."""

from fractions import Fraction

from accounting.models import AddedResource


def added_resources() -> dict[str, Fraction]:
    """The share of one GPU that a unit represents, by Kubernetes' spelling."""
    return {row.resource: row.share for row in AddedResource.objects.all()}
