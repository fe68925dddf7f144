"""Front-end files of others: unchanged, licensed, and of the versions they say."""

import hashlib
import json
from pathlib import Path
from typing import Any

import plotly.offline
import pytest

STATIC = Path(__file__).parents[3] / "static"
VENDOR = STATIC / "vendor"
FILES: list[dict[str, Any]] = json.loads((VENDOR / "vendored.json").read_text())


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
def test_a_vendored_file_is_what_it_says(entry: dict[str, Any]) -> None:
    path = VENDOR / entry["file"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
    assert (path.parent / "LICENSE").is_file()


def test_every_vendored_file_is_listed() -> None:
    listed = {entry["file"] for entry in FILES}
    found = {
        path.relative_to(VENDOR).as_posix()
        for path in VENDOR.rglob("*.*")
        if path.name != "vendored.json"
    }
    assert found == listed


def test_plotly_is_the_version_of_the_python_library() -> None:
    version = next(
        e["version"]
        for e in FILES
        if e["file"].endswith(".min.js") and "plotly" in e["file"]
    )
    assert version == plotly.offline.get_plotlyjs_version()
    assert (
        f"v{version}" in (VENDOR / "plotly/plotly-cartesian.min.js").read_text()[:200]
    )


def test_our_own_scripts_and_styles_stay_small() -> None:
    own = [*(STATIC / "js").glob("*.js"), *(STATIC / "css").glob("*.css")]
    assert sum(path.stat().st_size for path in own) < 80_000


def test_templates_have_no_inline_style_or_script() -> None:
    for path in (STATIC.parent / "templates").rglob("*.html"):
        text = path.read_text()
        assert " style=" not in text, path
        assert "<style" not in text, path
        assert "onclick=" not in text, path
        assert "<script>" not in text, path
        assert "//cdn" not in text, path
