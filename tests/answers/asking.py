"""Asks questions as people and as commands, and writes each answer as one line of JSON."""

import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from tests.answers.figures import said_by
from tests.sessions import give

COMMAND = "command"  # who asks at a terminal
FILE = "FILE"  # where a command writes one
KINDS = {"csv": "text/csv", "xlsx": "spreadsheet", "parquet": "parquet"}
Question = tuple[str, str]  # who, and an address or a command with its arguments


@dataclass(frozen=True)
class Answer:
    """What somebody was told.

    Attributes:
        who: a user's name, or `COMMAND`.
        at: an address, or a command with its arguments.
        status: of HTTP, or what a command exits with.
        kind: content type without parameters.
        said: see `tests.answers.figures`.
    """

    who: str
    at: str
    status: int
    kind: str
    said: Sequence[str]


class Recorder(Client):
    """A person's browser that remembers what it was told, each address once."""

    def __init__(self, who: str, tell: Callable[[Answer], None]) -> None:
        super().__init__(raise_request_exception=False)
        self.who = who
        self.asked: set[str] = set()
        self._tell = tell
        user = get_user_model().objects.get(username=who)
        give(self, user, settings.AUTHENTICATION_BACKENDS[0])

    def get(self, path: str, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """As a browser does; a stream is read to its end."""
        answer: Any = super().get(path, *args, **kwargs)
        content = answer.getvalue()
        if answer.streaming:
            answer.streaming_content = [content]
        if path not in self.asked:
            self.asked.add(path)
            kind = answer.headers.get("Content-Type", "").partition(";")[0]
            place = answer.headers.get("Location")
            said = [f"to {place}"] if place else said_by(kind, content)
            self._tell(Answer(self.who, path, answer.status_code, kind, said))
        return answer


def run_command(line: str) -> Answer:
    """What a command prints and writes."""
    out, status, written = StringIO(), 0, b""
    name, *arguments = shlex.split(line)
    with TemporaryDirectory(prefix="gpu-ledger-answers-") as folder:
        file = Path(folder) / "file"
        filled = [str(file) if one == FILE else one for one in arguments]
        with redirect_stdout(out), redirect_stderr(out):
            try:
                call_command(name, *filled, stdout=out, stderr=out)
            except SystemExit as ended:
                status = int(ended.code or 0)
        written = file.read_bytes() if file.exists() else b""
        printed = out.getvalue().replace(folder, "").splitlines()
    format_ = next((one for one in KINDS if f"--format {one} " in f"{line} "), "csv")
    rows = said_by(KINDS[format_], written) if written else []
    return Answer(COMMAND, line, status, "text/plain", [*printed, *rows])


class Dump:
    """A file of answers that are written as they come."""

    def __init__(self, out: TextIO) -> None:
        self.count = 0
        self._out = out

    def tell(self, answer: Answer) -> None:
        """Write one line."""
        self.count += 1
        self._out.write(json.dumps(asdict(answer), ensure_ascii=False) + "\n")
        self._out.flush()

    def ask(self, questions: Iterable[Question]) -> None:
        """Ask them in their order."""
        people: dict[str, Recorder] = {}
        for who, at in questions:
            if who == COMMAND:
                self.tell(run_command(at))
                continue
            if who not in people:
                people[who] = Recorder(who, self.tell)
            if at not in people[who].asked:
                people[who].get(at)
