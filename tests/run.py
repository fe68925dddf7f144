"""`make test`: every test that this machine can run.

Quick tests run side by side, then those of pages in browsers, each process with its own
server and Chromium, then those that start the whole product, two files at a time. One pair of
services serves all of them: those that `DATABASE_URL` and `REDIS_URL` name, else embedded ones
in a directory of their own. Temporary files are in memory if there is enough of it. In CI
(`CI=true`) a tier that cannot run fails. Arguments are pytest's; with `--collect-only` the tests
are listed.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from portal.embedded import launch, lease
from portal.embedded.supervisor import Stopped, stopping_signals
from tests import bytecode, scratch
from tests.programs import REQUIREMENTS

PROCESSES = "3"  # on two cores: some tests wait for other processes
LARGE_PROCESSES = "2"  # each with a browser, or with all processes of the product
PATIENCE = 30.0  # seconds that pytest gets to stop what its tests have started
STEPS: Mapping[str, list[str]] = {
    "that run side by side": [
        *("-n", PROCESSES, "--dist", "worksteal", "-m", "not alone"),
    ],
    "that run in browsers": [
        *("-n", LARGE_PROCESSES, "--dist", "worksteal", "-m", "browser"),
        *("-o", "testpaths=tests/browser"),  # without paths: nothing else is collected
    ],
    "of the whole product": [
        *("-n", LARGE_PROCESSES, "--dist", "loadfile", "-m", "e2e"),
        *("-o", "testpaths=tests/e2e"),
    ],
}
ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Run all steps; returns the first code that is not 0."""
    print_tiers()
    is_list = "--collect-only" in arguments  # of all tests at once, without services
    steps = {"are there": []} if is_list else STEPS
    with scratch.in_memory(), bytecode.kept(), stopping_signals():
        try:
            environment = dict(os.environ) if is_list else services()
            codes = [
                step(name, [*options, *arguments], environment)
                for name, options in steps.items()
            ]
        except Stopped as stopped:
            print(f"stopped by {stopped}", file=sys.stderr)
            return 130
    return next((code for code in codes if code), 0)


def print_tiers() -> None:
    """Say what this machine cannot run, and why, before anything runs."""
    for mark, reason in REQUIREMENTS.items():
        why = reason()
        print(f"tests marked {mark}: {f'CANNOT RUN, {why}' if why else 'run'}")


def services() -> dict[str, str]:
    """The environment of the tests; starts what it does not name."""
    given = {name: os.environ.get(name) for name in ("DATABASE_URL", "REDIS_URL")}
    if not all(given.values()):
        home = Path(tempfile.mkdtemp(prefix="gpu-ledger-tests-"))
        places = lease.acquire(home, is_temporary=True)
        given["DATABASE_URL"] = given["DATABASE_URL"] or places.database_url
        given["REDIS_URL"] = given["REDIS_URL"] or places.redis_url
    return {**os.environ, **{name: url for name, url in given.items() if url}}


def step(name: str, options: list[str], environment: dict[str, str]) -> int:
    """One run of pytest; it ends with us, and Ctrl-C lets it tidy up."""
    print(f"\n--- tests {name}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", *options]
    pytest = subprocess.Popen(
        launch.tethered(command, last_signal=signal.SIGINT),
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    )
    try:
        code = pytest.wait()
    except Stopped:
        stop(pytest)
        raise
    return 0 if code == 5 else code  # 5: no test has these marks


def stop(pytest: subprocess.Popen[bytes]) -> None:
    """Let it end its fixtures, then end whatever is left of its group."""
    pytest.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        pytest.wait(PATIENCE)
    with suppress(ProcessLookupError):
        os.killpg(pytest.pid, signal.SIGKILL)
    pytest.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
