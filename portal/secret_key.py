"""The secret key: from the environment, or generated once for local use."""

import os
import secrets
from pathlib import Path

from portal.embedded.paths import HOME_MODE, fault_of_owner
from portal.env import SHORTEST_SECRET, ConfigurationError, Environment


def secret_key(environment: Environment) -> str:
    """The secret that was given, else the one generated once for this home."""
    if environment.secret_key is not None:
        return environment.secret_key.get_secret_value()
    path = environment.gpu_ledger_home / "secret_key"
    try:
        path.parent.mkdir(mode=HOME_MODE, parents=True, exist_ok=True)
        return _generated(path)
    except OSError as error:
        fault = fault_of_owner(path.parent)
        fault = fault or f"SECRET_KEY: none is set and {path} cannot be used ({error})"
        raise ConfigurationError(fault) from None


def _generated(path: Path) -> str:
    """Read it, or write it whole or not at all: two processes may come at once."""
    if not path.exists():
        draft = path.with_name(f".secret_key.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)  # fails when another one was faster: theirs counts
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    text = path.read_text().strip()
    if len(text) < SHORTEST_SECRET:
        raise ConfigurationError(f"{path} is damaged: delete it and start again")
    return text
