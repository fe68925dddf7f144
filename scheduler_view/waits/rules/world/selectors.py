"""Label selectors and node selector terms, and what they match."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_view.waits.rules.world.lenient import items, labels, text, texts

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One condition on a label: In, NotIn, Exists, DoesNotExist, Gt, Lt.

    An operator that is not known matches nothing.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether it is met by one value only."""
        return self.operator == "In" and len(self.values) == 1

    def matches(self, found: Labels) -> bool:
        """Whether labels match."""
        value = found.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        if self.operator not in ("Gt", "Lt") or len(self.values) != 1:
            return False
        try:
            one, other = int(value), int(self.values[0])
        except ValueError:
            return False
        return one > other if self.operator == "Gt" else one < other


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All conditions must hold; without conditions it matches everything."""

    requirements: tuple[LabelRequirement, ...] = ()

    def matches(self, found: Labels) -> bool:
        """Whether labels match."""
        return all(one.matches(found) for one in self.requirements)


def label_selector(value: object) -> LabelSelector | None:
    """A `labelSelector`; None, which matches nothing, if there is none."""
    if not isinstance(value, Mapping):
        return None
    exact = [
        LabelRequirement(key, "In", (wanted,))
        for key, wanted in sorted(labels(value, "matchLabels").items())
    ]
    return LabelSelector((*exact, *requirements(value, "matchExpressions")))


def requirements(value: object, name: str) -> tuple[LabelRequirement, ...]:
    """The conditions in a list of an object."""
    return tuple(
        LabelRequirement(text(one, "key"), text(one, "operator"), texts(one, "values"))
        for one in items(value, name)
    )


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a node selector: labels and fields (`metadata.name`) must all match."""

    labels: tuple[LabelRequirement, ...]
    fields: tuple[LabelRequirement, ...] = ()

    def matches(self, found: Labels, name: str) -> bool:
        """Whether a node matches, by its labels and its name."""
        if not self.labels and not self.fields:
            return False  # as Kubernetes has it: an empty term matches no node
        return all(one.matches(found) for one in self.labels) and all(
            one.matches({"metadata.name": name}) for one in self.fields
        )


def node_terms(value: object) -> tuple[NodeTerm, ...] | None:
    """The terms of a required node selector, of which one must match; None if there is none."""
    if not isinstance(value, Mapping):
        return None
    return tuple(
        NodeTerm(
            requirements(one, "matchExpressions"), requirements(one, "matchFields")
        )
        for one in items(value, "nodeSelectorTerms")
    )
