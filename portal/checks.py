"""Checks of `manage.py check`; `collectstatic` runs them when the image is built."""

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

BUNDLE = Path("vendor", "plotly", "plotly-cartesian.min.js")
NAMED = re.compile(r"plotly\.js \(cartesian - minified\) v(\d+\.\d+\.\d+)")
SHIPPED = re.compile(r'__plotlyjs_version__ = "(\d+\.\d+\.\d+)"')
HEAD = 500  # characters; the bundle has its name in its first comment


@register(Tags.staticfiles)
def vendored_charts(
    app_configs: Sequence[AppConfig] | None, **_options: Any
) -> list[CheckMessage]:
    """The vendored chart script has the version that the package `plotly` ships."""
    del app_configs
    bundle = Path(settings.BASE_DIR) / "static" / BUNDLE
    return compare(bundle, shipped_version())


def compare(bundle: Path, shipped: str) -> list[CheckMessage]:
    """An error if the bundle has another version than the shipped one."""
    with bundle.open() as file:
        found = NAMED.search(file.read(HEAD))
    version = found[1] if found else "an unknown version"
    if version == shipped:
        return []
    return [
        Error(
            f"{bundle} is plotly.js {version}, and the installed plotly ships {shipped}",
            hint="CONTRIBUTING.md, 'A new plotly', says how to replace it.",
            id="portal.E001",
        )
    ]


def shipped_version() -> str:
    """The version of plotly.js in the installed package.

    It is read, not imported, because plotly takes long to import.

    Raises:
        LookupError: plotly is not installed, or has its version in another place.
    """
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise LookupError("plotly is not installed: install requirements.txt")
    package = Path(spec.submodule_search_locations[0])
    found = SHIPPED.search((package / "offline" / "_plotlyjs_version.py").read_text())
    if found is None:
        raise LookupError(f"{package} does not name its plotly.js")
    return found[1]
