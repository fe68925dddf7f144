"""The version of this product: the top heading of CHANGELOG.md."""

import re
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
HEADING = re.compile(r"^## (?:v)?(\d+\.\d+\.\d+)", re.MULTILINE)


def read_version(path: Path = CHANGELOG) -> str:
    """The version of the first heading such as `## 1.2.0`.

    Raises:
        ValueError: there is none; a release must have a version.
    """
    found = HEADING.search(path.read_text())
    if found is None:
        raise ValueError(f"{path} has no heading such as '## 1.2.0'")
    return found[1]
