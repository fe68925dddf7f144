"""`manage.py import_bill`: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest

from accounting.bills.models import Bill
from tests.integration.bills.billed import charge, focus
from tests.integration.commands.conftest import run

ROW = {
    "month": "2026-10",
    "provider": "AWS",
    "account": "acme",
    "revision": 1,
    "rows": 1,
    "currency": "EUR",
}


@pytest.mark.django_db
def test_rows_are_printed_by_word_and_faults_by_line(tmp_path: Path) -> None:
    file = tmp_path / "october.csv"
    file.write_bytes(focus(charge("12.50", "i-1"), charge("1", ChargeCategory="Tax")))
    checked = run("import_bill", "--check", "--format=json", str(file))
    assert json.loads(checked.out)["rows"] == [
        ROW | {"word": "tax", "cost": None},
        ROW | {"word": "unknown", "cost": "12.500000"},
    ]
    assert "dry run" in checked.err
    assert not Bill.objects.exists()
    assert run("import_bill", "--final", str(file)).code == 0
    assert Bill.objects.get().is_final
    assert (
        "1 of them imported from this file before" in run("import_bill", str(file)).err
    )
    assert Bill.objects.count() == 1
    for content, code, text in (
        (focus(charge("x")), 1, "line 2: bad_number: EffectiveCost 'x'"),
        (b"model,price\nH100,2\n", 2, "this is not a FOCUS file"),
    ):
        file.write_bytes(content)
        ended = run("import_bill", str(file))
        assert (ended.code, text in ended.err) == (code, True), ended.err
    assert run("import_bill", "no-such-file").code == 2
