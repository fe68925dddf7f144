"""Changes by people in the simulated cluster: stored in the home, replayed at each start.

Everything else depends on the scenario alone. An edit applies from its moment on, so that it also
applies after a restart of the demo, and in the history of the time in between.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from portal.demo.scenario.organization import NEVER

FILE = "demo-edits.json"

# units by namespace and resource, over all quotas
Limits = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Edit:
    """Quotas and priority classes from a moment on; fields that are absent keep the scenario's.

    Attributes:
        at_s: Unix seconds.
        limits: the smallest `hard` of each namespace and resource.
        priorities: value by PriorityClass name.
        never: PriorityClasses that do not preempt.
        queues: nominal quota and borrowing limit by ClusterQueue.
    """

    at_s: int
    limits: Limits
    priorities: Mapping[str, int]
    never: Sequence[str] = NEVER
    queues: Mapping[str, Sequence[int]] = field(default_factory=dict)


def load(home: Path) -> list[Edit]:
    """All edits of a home, oldest first."""
    try:
        return [Edit(**each) for each in json.loads((home / FILE).read_text())]
    except FileNotFoundError:
        return []


def append(home: Path, edit: Edit) -> None:
    """Store one more; the file is replaced atomically."""
    kept = [asdict(each) for each in [*load(home), edit]]
    draft = home / f"{FILE}.{os.getpid()}"
    draft.write_text(json.dumps(kept))
    draft.replace(home / FILE)
