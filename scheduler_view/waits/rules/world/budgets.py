"""Disruption budgets: which pods may not be evicted now."""

from dataclasses import dataclass

from scheduler_view.waits.rules.world.lenient import Manifest, part, text, whole
from scheduler_view.waits.rules.world.pods import PodObject
from scheduler_view.waits.rules.world.selectors import LabelSelector, label_selector


@dataclass(frozen=True, slots=True)
class BudgetObject:
    """One PodDisruptionBudget.

    Attributes:
        selector: None matches no pod.
        allowed: evictions that are allowed now; None before the controller has counted, or for an
            older version of the object.
    """

    namespace: str
    name: str
    selector: LabelSelector | None
    allowed: int | None

    def refuses(self, pod: PodObject) -> bool:
        """Whether the API server would refuse to evict a pod now.

        Pods that have not begun, or are ending, are evicted whatever their budget.
        """
        return (
            self.allowed == 0
            and pod.namespace == self.namespace
            and pod.phase == "Running"
            and not pod.is_ending
            and self.selector is not None
            and self.selector.matches(pod.labels)
        )


def budget_object(manifest: Manifest) -> BudgetObject:
    """A budget from the API server's JSON."""
    metadata, status = part(manifest, "metadata"), part(manifest, "status")
    is_counted = whole(status, "observedGeneration") == whole(metadata, "generation")
    return BudgetObject(
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        selector=label_selector(part(manifest, "spec").get("selector")),
        allowed=whole(status, "disruptionsAllowed") if is_counted else None,
    )
