"""A file that is larger than the memory it may use streams through."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import HOUR_ZERO, two_hours
from tests.integration.faults.support import ROOT, environment
from tests.integration.metering.support import clear, facts, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]

LINES = 120_000  # of 700 bytes, each of a series of its own that nobody wants
MEMORY = 48 * 1024 * 1024  # that the import may take beyond what the program has taken
CHILD = """
import resource, sys, django
django.setup()
from django.core.management import call_command
import accounting.metering.commands.import_metrics
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[1]),) * 2)
call_command("import_metrics", "--cluster=north", sys.argv[2])
"""


def write_large(path: Path) -> int:
    """The two hours of `builders` amid foreign series; returns the size of the text."""
    ours = two_hours().text().removesuffix("# EOF\n")
    size = len(ours)
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write(ours)
        for number in range(LINES):
            line = (
                f'container_fs_reads_total{{id="/{number:09d}{"x" * 640}"}} '
                f"{number} {HOUR_ZERO + number % 7200}\n"
            )
            file.write(line)
            size += len(line)
        file.write("# EOF\n")
    return size


def imported(path: Path, memory: int) -> subprocess.CompletedProcess[str]:
    """Import in a process that may take so many bytes more."""
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(memory), str(path)],
        cwd=ROOT,
        env=environment("") | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_file_larger_than_memory_is_imported(tmp_path: Path) -> None:
    run("import_metrics", "--cluster=north", two_hours().write(tmp_path / "small.om"))
    expected = facts()
    clear()
    path = tmp_path / "large.om.gz"
    size = write_large(path)
    assert size > 1.5 * MEMORY
    done = imported(path, MEMORY)
    assert done.returncode == 0, done.stderr[-2000:]
    assert facts() == expected


def test_limit_of_memory_is_one(tmp_path: Path) -> None:
    path = two_hours().write(tmp_path / "small.om")
    done = imported(path, 1024 * 1024)
    assert done.returncode != 0
    assert "MemoryError" in done.stderr or "memory" in done.stderr
    assert facts() == []
