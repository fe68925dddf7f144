"""A real S3 server over a folder (versitygw), for tests that send files to a bucket."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.ports import free_port
from tests.processes import wait_until
from tests.programs import s3_server

KEY_ID, SECRET = "gpu-ledger-test", "a-secret-of-the-tests"
STOPPED_S = 10.0


@contextmanager
def serving(folder: Path, *buckets: str) -> Iterator[str]:
    """The address of a server with empty buckets; objects are files `data/<bucket>/<key>`."""
    program = s3_server()
    assert program is not None
    for bucket in buckets:
        (folder / "data" / bucket).mkdir(parents=True)
    (folder / "sidecar").mkdir()
    port = free_port()
    server = subprocess.Popen(
        [
            *(str(program), "--port", f"127.0.0.1:{port}", "--quiet"),
            *("posix", "--sidecar", str(folder / "sidecar"), str(folder / "data")),
        ],
        env=os.environ | {"ROOT_ACCESS_KEY": KEY_ID, "ROOT_SECRET_KEY": SECRET},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _listens(server, port))
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(STOPPED_S)
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _listens(server: subprocess.Popen[bytes], port: int) -> bool:
    assert server.poll() is None, "the S3 server has ended"
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
