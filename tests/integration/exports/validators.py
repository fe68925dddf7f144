"""The validators of FOCUS files: of version 1.4 a library, of version 1.2 a program."""

import csv
import io
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from focus_data_toolkit.model.validator import lint_focus_1_4_structure

from tests.bytecode import own_modules
from tests.programs import CACHE

HOME = CACHE / "focus-validator"
PROGRAM = HOME / "bin" / "focus-validator"
CONDITIONS = ("SupportsUnitPricing", "SupportsMultiplePricingCategories")
# What is true of our files. There are no tags, regions, zones, reservations and virtual currencies,
# no commitment discounts, and one type of accounts.
CRITERIA = (
    "ACCOUNT_NAMING_SUPPORTED",
    "MULTIPLE_PRICING_CATEGORIES_SUPPORTED",
    "NEGOTIATED_PRICING_SUPPORTED",
    "PRICING_BILLING_CURRENCY_DIFFERENCES_SUPPORTED",
    "PUBLIC_PRICE_LIST_SUPPORTED",
    "USAGE_MEASUREMENT_SUPPORTED",
    "UNIT_PRICING_SUPPORTED",
    "SUB_ACCOUNT_SUPPORTED",
    "BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED",
    "RESOURCE_TYPE_ASSIGNMENT_SUPPORTED",
)
LONGEST_S = 240
_FAILED = re.compile(r"^\u274c ([\w-]+): FAIL", re.MULTILINE)
_TOTAL = re.compile(r"^Total: \d+ \| Pass: (\d+) \| Fail: (\d+)", re.MULTILINE)
Rows = list[dict[str, str]]


def rows_of(data: bytes) -> Rows:
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def file_of(rows: Rows) -> bytes:
    """A CSV file of rows."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def broken_in_1_4(rows: Iterable[dict[str, str]]) -> set[str]:
    """The rules that rows break, as `rule: column`, by the toolkit's model of version 1.4."""
    report = lint_focus_1_4_structure(
        "cost and usage", list(rows), supported_conditions=CONDITIONS
    )
    return {f"{found.rule}: {found.column}" for found in report.violations}


def missing_program() -> str | None:
    """Why the validator of version 1.2 cannot run here."""
    if PROGRAM.exists():
        return None
    return (
        "focus-validator 2.2.1 needs Python 3.12 and an environment of its own: "
        f"{PROGRAM} (make provision)"
    )


def broken_in_1_2(path: Path) -> set[str]:
    """The rules that a file breaks, by the official validator with its bundled rules.

    It finds a file of its own only in the folder of its package, and always ends with 0.
    """
    (packages,) = HOME.glob("lib/python3.*/site-packages")
    ended = subprocess.run(
        [
            str(PROGRAM),
            *("--data-file", str(path), "--validate-version", "1.2"),
            *("--block-download", "--applicability-criteria", ",".join(CRITERIA)),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        cwd=packages,
        # a second thread of Polars looks for work that there is not: a quarter of the time
        env=own_modules() | {"POLARS_MAX_THREADS": "1"},
    )
    total = _TOTAL.search(ended.stdout)
    assert total is not None, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert int(total[1]) > 200  # rules that passed: the file was read
    failed = set(_FAILED.findall(ended.stdout))
    assert len(failed) == int(total[2])
    return failed
