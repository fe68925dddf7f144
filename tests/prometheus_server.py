"""A real Prometheus over history that promtool makes, for as long as a test needs it.

Tests that use it carry the mark `prometheus`; `tests/programs.py` says what they need.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import requests

from tests import programs
from tests.ports import free_port
from tests.processes import wait_until

VERSIONS = {2: programs.prometheus2, 3: programs.prometheus3}
READY_S = 60.0
# Blocks of a week: for blocks of two hours the whole file would be read once for each of them.
MAKE_BLOCKS = (
    *("tsdb", "create-blocks-from", "--max-block-duration=168h"),
    "openmetrics",
)
MADE_S = 240.0  # a store of a day is made in seconds, where nobody else computes
STOP_S = 20.0
PORT_TRIES = 5  # somebody else may take a free port before the server does


@contextmanager
def prometheus(version: int, history: str, folder: Path) -> Iterator[str]:
    """The address of a server that has a history and scrapes nothing.

    Args:
        version: 2 or 3.
        history: OpenMetrics text with times; becomes blocks of the server's store.
        folder: an empty folder for the store, the settings and the log.
    """
    source = folder / "history.om"
    source.write_text(history)
    with serving(version, make_history(source, folder / "store"), folder) as address:
        yield address


@contextmanager
def serving(version: int, store: Path, folder: Path) -> Iterator[str]:
    """The address of a server over a store; its settings and log lie in `folder`."""
    program = VERSIONS[version]()
    assert program is not None, f"Prometheus {version} is not installed"
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    server, address = _start(program, store, folder)
    try:
        yield address
    finally:
        _stop(server)


def make_history(source: Path, store: Path, seconds: float = MADE_S) -> Path:
    """A store with the samples of an OpenMetrics file, made as operators make one."""
    promtool = programs.promtool()
    assert promtool is not None, "promtool is not installed"
    made = subprocess.run(
        [promtool, *MAKE_BLOCKS, source, store],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert made.returncode == 0, f"promtool: {made.stderr[-500:]}"
    return store


def _start(
    program: Path, store: Path, folder: Path
) -> tuple[subprocess.Popen[bytes], str]:
    """Start until a port is free and the server is ready."""
    log = folder / "prometheus.log"
    for _ in range(PORT_TRIES):
        address = f"127.0.0.1:{free_port()}"
        with log.open("wb") as out:
            server = subprocess.Popen(
                [
                    program,
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={store}",
                    "--storage.tsdb.retention.time=100y",
                    f"--web.listen-address={address}",
                ],
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_until(partial(_is_ready, address, server), READY_S)
        except ServerEndedError:
            if "address already in use" not in log.read_text():
                raise AssertionError(log.read_text()[-1000:]) from None
            continue
        except BaseException:
            _stop(server)
            raise
        return server, f"http://{address}"
    raise AssertionError(f"no free port in {PORT_TRIES} tries")


class ServerEndedError(Exception):
    """The server ended before it was ready; its log says why."""


def _is_ready(address: str, server: subprocess.Popen[bytes]) -> bool:
    if server.poll() is not None:
        raise ServerEndedError
    try:
        answer = requests.get(f"http://{address}/-/ready", timeout=2)
    except requests.RequestException:
        return False
    return answer.status_code == 200


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(STOP_S)
