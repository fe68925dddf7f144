"""Who set the limits of an object, from the managers of its fields (docs/quotas.md, "All limits").

The API server notes a manager for each field and write. Tools that sync from Git or a chart also
leave marks, which count more: they write with kubectl's or the API's own library.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduler_view.clusters.rules.live_objects import (
    MANAGER,
    Manifest,
    Path,
    git_owner,
    owners,
)

OURS = "GPU Ledger"
_TITLES = {  # beginnings of managers, in small letters
    "kubectl": "kubectl",
    "terraform": "Terraform",
    "hashicorp": "Terraform",
    "pulumi": "Pulumi",
    "crossplane": "Crossplane",
    "kube-apiserver": "Kubernetes",
}


@dataclass(frozen=True, slots=True)
class Maker:
    """Who set something.

    Attributes:
        name: `kubectl`, `Helm`, `GPU Ledger`, or the manager as written; several are joined, the
            latest first. Empty if the API server did not say.
        at: when they last wrote, in the API server's format; empty if not known.
    """

    name: str = ""
    at: str = ""

    @property
    def is_ours(self) -> bool:
        """True if GPU Ledger alone set it."""
        return self.name == OURS


def maker_of(live: Manifest, paths: Iterable[Path]) -> Maker:
    """Who set some fields of an object.

    Args:
        live: with the managers of its fields.
        paths: of the fields, or of what contains them: ("spec", "hard").
    """
    asked = list(paths)
    names = {
        name
        for field, managers in owners(live).items()
        if any(field[: len(path)] == path for path in asked)
        for name in managers
    }
    written: dict[str, str] = dict.fromkeys(names, "")
    for entry in live["metadata"].get("managedFields") or []:
        name = entry.get("manager", "")
        if name in written and not entry.get("subresource"):
            written[name] = max(written[name], entry.get("time") or "")
    latest = sorted(names, key=lambda name: (written[name], name), reverse=True)
    titles = list(dict.fromkeys(map(_title, latest)))
    tool = git_owner(live)
    if tool:
        titles = [one for one in titles if one == OURS] + [tool]
    return Maker(", ".join(titles), max(written.values(), default=""))


def _title(manager: str) -> str:
    if manager == MANAGER:
        return OURS
    bare = manager.lower()
    return next((t for begin, t in _TITLES.items() if bare.startswith(begin)), manager)
