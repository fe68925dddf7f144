"""Where the shared data are: real traces and recordings, which are not part of the project.

`GPU_LEDGER_SHARED` names their folder; without it, the folder `shared` beside the checkout. A
test whose data are missing is skipped by name.
"""

import os
from pathlib import Path

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
DATA = Path(os.environ.get("GPU_LEDGER_SHARED", _BESIDE)) / "data"


def missing(name: str) -> str:
    """Why a test is skipped."""
    return f"{name} is missing in the shared data (GPU_LEDGER_SHARED)"
