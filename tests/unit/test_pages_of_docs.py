"""What README, CONTRIBUTING and docs name is there: files, verbs of make, commands.

Not here: what commands do (tests/integration/commands/test_readme.py), and the examples
(tests/integration).
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))),
]
NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)`|\]\(([\w./-]+)\)")
WHERE = ("", "docs", "tests", "tests/integration")  # a path may begin in one of them
SUFFIXES = (".py", ".md", ".yaml", ".yml", ".toml", ".txt", ".om", ".png", ".sh")


def _paths(text: str) -> set[str]:
    """Names that are meant as a place in the checkout: a folder of it, or a file."""
    tops = {path.name for path in ROOT.iterdir()}
    found = {one or other for one, other in NAMED.findall(text)}
    return {
        name
        for name in found
        if "/" in name and (name.split("/")[0] in tops or name.endswith(SUFFIXES))
    }


@pytest.mark.parametrize("page", PAGES)
def test_paths_of_a_page_exist(page: str) -> None:
    missing = {
        name
        for name in _paths((ROOT / page).read_text())
        if not any((ROOT / folder / name).exists() for folder in WHERE)
    }
    assert missing == set()


@pytest.mark.parametrize("page", PAGES)
def test_verbs_and_commands_of_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    verbs = set(
        re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    assert (
        set(re.findall(r"(?:^|`|=\d+ )make ([a-z0-9-]+)", text, re.MULTILINE)) <= verbs
    )
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")}
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= commands


def anchors(text: str) -> set[str]:
    """Where a link may lead to on a page: its headings, as GitHub names them."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", outside, re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("page", PAGES)
def test_headings_that_a_page_links_to_exist(page: str) -> None:
    path = ROOT / page
    wrong = {
        f"{name}#{anchor}"
        for name, anchor in re.findall(r"\]\(([\w./-]*)#([^)]+)\)", path.read_text())
        if not name.startswith("http")
        if anchor not in anchors((path.parent / name if name else path).read_text())
    }
    assert wrong == set()


def test_headings_are_found_as_they_are_linked_to() -> None:
    text = "# A `kube` page, of 2\n```\n# no heading\n```\n### N12\n"
    assert anchors(text) == {"a-kube-page-of-2", "n12"}


def test_places_are_found_at_all() -> None:
    assert {"docs/metering.md", "docs/overview.png"} <= _paths(
        (ROOT / "README.md").read_text()
    )


def test_each_decision_has_its_own_number() -> None:
    numbers = [path.name[:4] for path in (ROOT / "docs/decisions").glob("0*.md")]
    assert len(numbers) > 10
    assert sorted(numbers) == sorted(set(numbers))
