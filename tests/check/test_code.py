"""The checks of `make check`, so that one run of the tests says everything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.executable)


@pytest.mark.timeout(900)  # mypy without a cache on a slow machine
@pytest.mark.parametrize("verb", ["lint", "types", "layers", "migrations", "templates"])
def test_check_passes(verb: str) -> None:
    """`make <verb>` finds nothing."""
    environment = {**os.environ, "MAKEFLAGS": ""}
    venv = PYTHON.parent.parent
    found = subprocess.run(
        ["make", "--no-print-directory", verb, f"VENV={venv}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
