"""The commands of `docs/exports.md`, in order, as a person in finance would type them."""

import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from accounting.months.tasks.close import close_period
from tests.integration.commands.conftest import run
from tests.integration.months.days import H100, Days

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "exports.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FEWEST = 12  # commands: the page was read


def executed(kind: str, text: str) -> str:
    """The output of a block; an error fails."""
    if kind == "python":
        command = [sys.executable, "-c", text]
        ended = subprocess.run(command, check=True, capture_output=True, text=True)
        return ended.stdout
    out = ""
    for line in text.splitlines():
        words = shlex.split(line)
        if words[:2] == ["python", "manage.py"]:
            done = run(*words[2:])
            assert done.code == 0, f"{line}: {done.err}"
            out += done.out
        else:
            ended = subprocess.run(words, check=True, capture_output=True, text=True)
            out += ended.stdout
    return out


def test_every_command_runs(
    days: Days, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days.price(H100, "1.234567")
    days.use("vision", date(2026, 10, 5), 378_001)
    days.use("search", date(2026, 10, 5), 1_000_003)
    payable = f"{close_period('2026-10').payable:.2f}"
    (tmp_path / "files").mkdir()
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text())
    outputs = [executed(kind, text) for kind, text in blocks]
    assert sum(text.count("\n") for _, text in blocks) >= FEWEST
    assert f"payable {payable}" in outputs[0]
    first, second = outputs[1].split("\n")[:2]
    assert first.split()[0] in second  # the checksum is that of the metadata
    assert (tmp_path / "files" / "statements.xlsx").exists()
    assert "vision" in "".join(outputs)
    assert [path.name for path in tmp_path.iterdir()] == ["files"]
