"""What people change in the simulated cluster: kept in the home, played again at each start.

The story alone decides everything else. An edit holds from its moment on, so that a demo
that is started again, and the history of the time it was off, go on with it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "demo-edits.json"

Limits = Mapping[str, Mapping[str, int]]  # namespace -> resource -> units, all quotas


@dataclass(frozen=True, slots=True)
class Edit:
    """What the quotas and priority classes say from a moment on.

    Attributes:
        at_s: Unix seconds.
        limits: the smallest `hard` of each namespace and resource.
        priorities: PriorityClass name to value.
    """

    at_s: int
    limits: Limits
    priorities: Mapping[str, int]


def load(home: Path) -> list[Edit]:
    """All edits of a home, oldest first."""
    try:
        return [Edit(**each) for each in json.loads((home / FILE).read_text())]
    except FileNotFoundError:
        return []


def append(home: Path, edit: Edit) -> None:
    """Keep one more; the file is replaced as a whole."""
    kept = [asdict(each) for each in [*load(home), edit]]
    draft = home / f"{FILE}.{os.getpid()}"
    draft.write_text(json.dumps(kept))
    draft.replace(home / FILE)
