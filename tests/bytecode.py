"""Compiled modules, kept for one run of the tests, where Python may not write them.

With `PYTHONDONTWRITEBYTECODE` set, as images of containers often have it, each process
compiles Django and all of the product anew: more than a second of processor time. A run of
the tests starts hundreds of processes.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
