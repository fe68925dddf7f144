"""Compiled modules, kept for one run of the tests, where Python may not write them.

With `PYTHONDONTWRITEBYTECODE` set, as images of containers often have it, each process
compiles Django and all of the product anew: more than a second of processor time. A run of
the tests starts hundreds of processes.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

REFUSED = "PYTHONDONTWRITEBYTECODE"
FOLDER = "PYTHONPYCACHEPREFIX"


@contextmanager
def kept() -> Iterator[None]:
    """Let processes that begin meanwhile share compiled modules in a temporary folder.

    Nothing is written beside the sources. Does nothing where Python writes them anyway, or
    where somebody has named a folder.
    """
    if not os.environ.get(REFUSED) or os.environ.get(FOLDER):
        yield
        return
    refused = os.environ.pop(REFUSED)
    with tempfile.TemporaryDirectory(
        prefix="gpu-ledger-pycache-", ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)  # tests that run as another user read it, too
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER]
            os.environ[REFUSED] = refused


def own_modules() -> dict[str, str]:
    """The environment for a program whose own environment has its compiled modules."""
    return {name: value for name, value in os.environ.items() if name != FOLDER}


def compile_share(config: pytest.Config) -> None:
    """Rewrite the asserts of this process's share of the test modules, for all processes.

    pytest keeps what it has rewritten, but processes that begin together would each rewrite
    all modules: 12 s of processor time. What a process needs before another one has
    finished, it rewrites itself.
    """
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not number or sys.dont_write_bytecode:
        return
    files = [path for name in config.args for path in _test_modules(name)]
    count = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    state = config.stash[rewrite.assertstate_key]
    for path in files[int(number) :: count]:
        folder = rewrite.get_cache_dir(path)
        kept = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(folder) and rewrite._read_pyc(path, kept) is None:
            source_hash, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source_hash, kept)


def _test_modules(argument: str) -> list[Path]:
    """The files that pytest would collect for an argument."""
    place = Path(argument.partition("::")[0]).resolve()
    return sorted(place.rglob("test_*.py")) if place.is_dir() else [place]
