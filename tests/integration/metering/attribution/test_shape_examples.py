"""The examples of docs/shapes.md, each run through the importer and the reports."""

from pathlib import Path

import pytest

from tests.integration.metering.examples import block, sections, try_example

SHAPES = sections("shapes.md")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("heading", SHAPES)
def test_example_comes_out_of_the_importer(heading: str, tmp_path: Path) -> None:
    assert block(SHAPES[heading], "usage")
    assert block(SHAPES[heading], "ledger")
    try_example(SHAPES[heading], tmp_path)
