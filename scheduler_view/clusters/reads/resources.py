"""The resources that an administrator added, as quota keys need them."""

from accounting.domain.units.resources import sanitised
from accounting.queries.resources import added_resources


def added_names() -> dict[str, str]:
    """Kubernetes' spelling by kube-state's."""
    return {sanitised(resource): resource for resource in added_resources()}
