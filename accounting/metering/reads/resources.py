"""GPU resources that an administrator added to the ones that the product knows."""

from fractions import Fraction

from django.db import connection

from accounting.core.read_once import read_once
from accounting.metering.rules.units.resources import sanitised

# Each computed hour asks several times: building this query with the ORM takes longer.
_ADDED = """
    SELECT resource, share_numerator, share_denominator FROM accounting_addedresource
    ORDER BY resource
"""


@read_once
def added_resources() -> dict[str, Fraction]:
    """The share of one GPU that a unit represents, by Kubernetes' spelling."""
    with connection.cursor() as cursor:
        cursor.execute(_ADDED)
        return {name: Fraction(part, whole) for name, part, whole in cursor.fetchall()}


def added_names() -> dict[str, str]:
    """Their names in Kubernetes' spelling, by that of kube-state-metrics."""
    return {sanitised(resource): resource for resource in added_resources()}
