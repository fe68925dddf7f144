"""The resources that an administrator added, as quota keys need them."""

from accounting.metering.reads.resources import added_resources
from accounting.metering.rules.units.resources import sanitised


def added_names() -> dict[str, str]:
    """Kubernetes' spelling by kube-state's."""
    return {sanitised(resource): resource for resource in added_resources()}
