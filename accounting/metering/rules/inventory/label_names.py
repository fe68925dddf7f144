"""Names of Kubernetes labels as kube-state-metrics writes them: `label_` and snake case.

`eks.amazonaws.com/capacityType` becomes `label_eks_amazonaws_com_capacity_type`. Two labels of one
object with the same resulting name get the suffixes `_conflict1` and `_conflict2`, in an unknown
order. Source: kube-state-metrics `internal/store/utils.go` (labelName, mapToPrometheusLabels);
names of resources there keep their capital letters (`resource.sanitised`).
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

PREFIX = "label_"
_INVALID = re.compile(r"[^a-zA-Z0-9_]")
_HUMP = re.compile(r"([a-z0-9])([A-Z])")
_CONFLICT = re.compile(r"(label_.+)_conflict[1-9][0-9]*")


@lru_cache(maxsize=10_000)
def label_name(key: str) -> str:
    """The name under which kube-state-metrics shows the Kubernetes label `key`."""
    return PREFIX + _snake(_INVALID.sub("_", key))


def _snake(name: str) -> str:
    return _HUMP.sub(r"\1_\2", name).lower()


@lru_cache(maxsize=50_000)
def _plain(name: str) -> str:
    """A label's name in snake case, without the suffix of a conflict."""
    found = _CONFLICT.fullmatch(name)
    return _snake(found[1] if found else name)


def object_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of an object among those of its series, by `label_name` (see module).

    If several labels of the object have one name: their value if it is the same, else the name is
    left out, because it is not known which of them is meant. Empty without any.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for name, value in labels.items():
        if name.startswith(PREFIX):
            found[_plain(name)].add(value)
    return {name: values.pop() for name, values in found.items() if len(values) == 1}
