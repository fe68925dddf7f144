"""The shared data: real traces and recordings, and what is known of them.

They are not part of the project: a test whose data are absent is skipped by name.
"""

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import shared_data


def data(name: str) -> Path:
    """A folder of shared data, or the test is skipped."""
    folder = shared_data.DATA / name
    if not folder.is_dir():
        pytest.skip(shared_data.missing(name))
    return folder


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a compressed CSV file."""
    with gzip.open(path, "rt") as file:
        yield from csv.DictReader(file)


def expected_of(folder: Path) -> dict[str, Any]:
    """What is known of a data set."""
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    return found
