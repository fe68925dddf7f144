"""The examples of docs/sources.md and docs/evidence.md, each through importer and reports."""

from pathlib import Path

import pytest

from tests.integration.metering.examples import sections, try_example

EXAMPLES = {
    (page, heading): text
    for page in ("sources.md", "evidence.md")
    for heading, text in sections(page).items()
}

assert {page for page, _ in EXAMPLES} == {"sources.md", "evidence.md"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("example", EXAMPLES, ids=" ".join)
def test_example_comes_out_of_the_importer(
    example: tuple[str, str], tmp_path: Path
) -> None:
    try_example(EXAMPLES[example], tmp_path)
