"""Looking at processes from outside, for tests that kill them."""

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(
    what: Callable[[], bool], seconds: float = 60.0, pause: float = 0.05
) -> None:
    """Return as soon as something is true; fail when it does not become true.

    To ask may start a process: a longer pause leaves its time to what is waited for.
    """
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, f"not true within {seconds} s: {what}"
        time.sleep(pause)


def processes_of(word: str) -> dict[int, str]:
    """Living processes with a word in their command line or working directory."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            place = str((folder / "cwd").readlink())
            is_alive = ") Z " not in (folder / "stat").read_text()
        except (OSError, UnicodeDecodeError):
            continue
        if is_alive and (word in command or place.startswith(word)):
            found[int(folder.name)] = command
    return found
