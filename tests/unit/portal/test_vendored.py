"""Front-end files of others: unchanged, licensed, and of the versions they say."""

import hashlib
import json
from pathlib import Path
from typing import Any

import plotly.offline
import pytest
from django.contrib.staticfiles.management.commands import collectstatic
from django.core import checks

from portal.checks import compare, shipped_version

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


def test_chart_script_is_the_version_that_the_package_ships() -> None:
    assert checks.run_checks(tags=["staticfiles"]) == []
    assert shipped_version() == plotly.offline.get_plotlyjs_version()
    css = (VENDOR / "plotly" / "plotly.css").read_text()
    assert css.startswith(f"/* plotly.js {shipped_version()} ")


@pytest.mark.parametrize(
    ("head", "named"),
    [
        ("/**\n* plotly.js (cartesian - minified) v4.0.9\n", "4.0.9"),
        ("/* something else */", "an unknown version"),
    ],
)
def test_another_chart_script_stops_the_build(
    tmp_path: Path, head: str, named: str
) -> None:
    bundle = tmp_path / "bundle.js"
    bundle.write_text(head)
    (fault,) = compare(bundle, "4.1.1")
    assert isinstance(fault, checks.Error)
    assert f"is plotly.js {named}, and the installed plotly ships 4.1.1" in fault.msg


def test_collecting_static_files_runs_the_check() -> None:
    tags = collectstatic.Command.requires_system_checks
    assert checks.Tags.staticfiles in tags


def test_our_own_scripts_and_styles_stay_small() -> None:
    own = [*(STATIC / "js").glob("*.js"), *(STATIC / "css").glob("*.css")]
    # 80,000 before cards loaded by themselves (decision 47)
    assert sum(path.stat().st_size for path in own) < 88_000


def test_templates_have_no_inline_style_or_script() -> None:
    """But a mail has its styles in it: mail programs load none."""
    templates = STATIC.parent / "templates"
    mails = [templates / "weekly" / "mail.html", templates / "digest" / "mail.html"]
    for path in templates.rglob("*.html"):
        text = path.read_text()
        assert " style=" not in text or path in mails, path
        assert "<style" not in text, path
        assert "onclick=" not in text, path
        assert "<script>" not in text, path
        assert "//cdn" not in text, path
