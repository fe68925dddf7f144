"""Creates or updates the virtual environment from the lock; needs only Python.

    environment.py runtime|development FOLDER

`deploy/with-venv` and the Dockerfile run it. With `--check` it only reports by its exit code
whether the environment matches the lock; then it must be run by the environment's own Python.
"""

import argparse
import fcntl
import hashlib
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LOCKS = {"runtime": "requirements.txt", "development": "requirements-dev.txt"}
LOCK_FILE = "making.lock"  # `.lock` is uv's own
STAMP = "installed.json"  # the installed lock and folder; written last
PIP = ("-m", "pip", "install", "--quiet", "--require-hashes", "-r")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
CANNOT_RUN = 3  # as `manage.py`


class CannotMake(Exception):
    """The environment cannot be created; the message explains why and what to do."""


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=LOCKS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    folder = options.folder.absolute()
    if options.check:
        return int(not is_current(options.kind, folder))
    try:
        make(options.kind, folder)
    except CannotMake as error:
        sys.stderr.write(f"gpu-ledger: {error}\n")
        return CANNOT_RUN
    return 0


def is_current(kind: str, folder: Path) -> bool:
    """True if all of a lock is installed, and programs in the folder find their Python."""
    found = read_stamp(folder)
    return found.get("place") == place(folder) and found.get(kind) == digest(kind)


def make(kind: str, folder: Path) -> None:
    """Install the lock of a kind, under a lock file, if something is missing.

    Raises:
        CannotMake: with the reason.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        require_own(folder)
        with (folder / LOCK_FILE).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second `make` waits for the first
            if not is_current(kind, folder):
                install(kind, folder)
    except OSError as error:
        raise CannotMake(
            f"the virtual environment {folder} cannot be made ({error}). Set VENV to"
            " another folder, or make room"
        ) from None
    except subprocess.CalledProcessError as error:
        words = " ".join(map(str, error.cmd[:3]))
        raise CannotMake(
            f"the virtual environment {folder} is not complete: `{words} ...` failed, for"
            " the reason above. The next try goes on from here"
        ) from None


def require_own(folder: Path) -> None:
    """Refuse to write into another user's environment: that user could not update it.

    Raises:
        CannotMake: names the owner.
    """
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise CannotMake(
            f"the virtual environment {folder} is out of date and belongs to"
            f" {name_of(owner)}, and this runs as {name_of(os.geteuid())}. Run it as"
            f" {name_of(owner)}, or set VENV to another folder"
        )


def install(kind: str, folder: Path) -> None:
    """Create the environment if there is none for this Python, then install a lock."""
    python = folder / "bin" / "python"
    if not is_usable(folder):
        clear(folder)
        say(f"making the virtual environment {folder} with {sys.executable}")
        (folder / STAMP).write_text(
            "{}"
        )  # the next run may clear an incomplete environment
        run(sys.executable, "-m", "venv", folder)
    if not (folder / "bin" / "uv").exists():
        install_uv(folder)
    say(f"installing {LOCKS[kind]}")
    lock = CHECKOUT / LOCKS[kind]
    uv: list[str | Path] = [folder / "bin" / "uv", "pip", "install", "--quiet"]
    uv += cache_options()
    # Uses the system's certificates, because a proxy may have its own. If pip is configured for an
    # index that uv does not know, pip installs.
    uv += ["--system-certs", "--python", python, "--require-hashes", "-r", lock]
    if subprocess.run(uv, check=False).returncode:
        run(python, *PIP, lock)
    found = read_stamp(folder) | {"place": place(folder), kind: digest(kind)}
    if kind == "development":  # its lock contains the other one
        found["runtime"] = digest("runtime")
    draft = folder / f"{STAMP}.new"
    draft.write_text(json.dumps(found))
    draft.replace(folder / STAMP)


def install_uv(folder: Path) -> None:
    """Install uv, from the same lock and by its hash; it installs the rest in seconds."""
    lock = (CHECKOUT / LOCKS["development"]).read_text()
    entry = re.search(r"^uv==.*?[^\\]$", lock, re.MULTILINE | re.DOTALL)
    if entry is None:
        raise CannotMake(f"{LOCKS['development']} does not name uv")
    (folder / "uv.txt").write_text(entry[0] + "\n")
    run(folder / "bin" / "python", *PIP, folder / "uv.txt")


def is_usable(folder: Path) -> bool:
    """True if there is an environment of this Python, created for this folder."""
    code = "import sys; print(*sys.version_info[:2], sep='.')"
    try:
        command: list[str | Path] = [folder / "bin" / "python", "-c", code]
        said = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout
        pip = (folder / "bin" / "pip").read_text()
    except (OSError, subprocess.CalledProcessError):
        return False
    return said.strip() == VERSION and str(folder) in pip


def clear(folder: Path) -> None:
    """Empty the folder of an unusable environment.

    Raises:
        CannotMake: another user created its content.
    """
    inside = [path for path in folder.iterdir() if path.name != LOCK_FILE]
    if inside and not (folder / STAMP).exists():
        raise CannotMake(
            f"{folder} is not a virtual environment of this checkout and Python {VERSION}:"
            " remove it, or set VENV to another folder"
        )
    for path in inside:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def cache_options() -> list[str]:
    """`--no-cache` for an account without a writable folder for uv's cache."""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        cache = Path(os.environ.get("UV_CACHE_DIR") or home / "uv")
        cache.mkdir(parents=True, exist_ok=True)
        is_ours = os.access(cache, os.W_OK)
    except (OSError, RuntimeError):
        is_ours = False
    return [] if is_ours else ["--no-cache"]


def place(folder: Path) -> str:
    """Folder and Python: the shebang lines of its programs contain both."""
    return f"{folder} {VERSION}"


def digest(kind: str) -> str:
    """A digest of the content of a lock."""
    return hashlib.sha256((CHECKOUT / LOCKS[kind]).read_bytes()).hexdigest()


def read_stamp(folder: Path) -> dict[str, str]:
    """The installed lock; empty if not known."""
    with suppress(OSError, ValueError):
        found = json.loads((folder / STAMP).read_text())
        if isinstance(found, dict):
            return found
    return {}


def name_of(uid: int) -> str:
    """The name of a user."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def say(text: str) -> None:
    """Print one line."""
    sys.stderr.write(f"gpu-ledger: {text}\n")


def run(*command: str | Path) -> None:
    """Run one step.

    Raises:
        subprocess.CalledProcessError: it failed, and has printed why.
    """
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
