"""The family of a workload: runs of the same work in one namespace (rules.md N41)."""

import re

LABEL = "family"
"""The label of pods that names a family, unless the setup names other labels."""

_LETTERS = "[bcdfghjklmnpqrstvwxz2456789]"
"""Of which Kubernetes makes names: no vowels, and not 0, 1, 3 and y.

Source: k8s.io/apimachinery/pkg/util/rand, `alphanums`. A suffix has 5 of them, the hash of a pod
template up to 10.
"""
_CODE = (
    f"(?!(?:nv|mx)fp[0-9](?:-|$)){_LETTERS}{{5,10}}"  # a number format is not a code
)
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_HEX = "(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}"  # of a commit, or a digest
_TIME = "(?:[t-]?[0-9]{2}-?[0-9]{2}(?:-?[0-9]{2})?z?)?"
_DATE = f"(?:19|20)[0-9]{{2}}-[01][0-9]-[0-3][0-9]{_TIME}"
_STAMP = f"(?:19|20)[0-9]{{2}}[01][0-9][0-3][0-9]{_TIME}"
_NUMBER = "(?!(?:19|20)[0-9]{2}(?:-|$))[0-9]+"  # a year alone is part of the name
_RAY = f"raycluster-{_LETTERS}{{5}}"  # KubeRay: the cluster of a RayJob or RayService
_GENERATED = re.compile(
    f"-(?:{_UUID}|{_DATE}|{_STAMP}|{_RAY}|{_CODE}|{_HEX}|{_NUMBER})$"
)
_REVISION = re.compile("-[0-9]{5}-deployment$")  # by Knative, also for KServe
_TEMPLATE = re.compile(f"-{_LETTERS}{{5,10}}$")
KEEPS = ("CronJob", "DaemonSet", "Deployment", "StatefulSet")
"""Kinds of which one object has all runs: its name was written, not generated."""

_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def label_value(value: str) -> str:
    """A family that a label names; empty if Kubernetes would refuse the value."""
    return value if _VALUE.fullmatch(value) else ""


def family_of(name: str, kind: str, label: str = "") -> str:
    """The family of a workload, within its namespace.

    `train-7xk2p` and `train-9wz4c` are of the family `train`. A pure function of the name: a
    family does not change when others are created or expire.

    Args:
        name, kind: of the workload (rules.md N25).
        label: the value of its family label; empty, or not a value of Kubernetes, if none.
    """
    if found := label_value(label):
        return found
    if kind in KEEPS:
        return _REVISION.sub("", name)
    if kind == "ReplicaSet":  # whose Deployment is not shown
        return _REVISION.sub("", _TEMPLATE.sub("", name))
    while (shorter := _GENERATED.sub("", name)) != name:
        name = shorter
    return name
