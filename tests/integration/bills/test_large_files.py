"""Files of prices and bills with very many rows: memory, and the limits (money.md M19, M41).

Prices are judged together, so they need memory for each row: less than a kibibyte. Bills are staged
in the database and need none. Memory is that of Python; PostgreSQL's is not measured.
Not here: rows with faults (`test_bills.py`, `commands/test_prices.py`).
"""

import gzip
import io
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from accounting.bills.actions.import_bill import BillImport, import_bill
from accounting.bills.actions.read_file import Bounds
from accounting.bills.actions.read_file import rows_of as rows_of_bill
from accounting.bills.models import Bill
from accounting.bills.rules.columns import BillFileError
from accounting.kit.audit import SYSTEM
from accounting.prices.actions.price_import import ImportOptions, check_price_file
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.price_file import MOST_ROWS, rows_of
from accounting.prices.rules.price_offers import PriceFileError
from tests.integration.bills.billed import Fleet, charge, focus
from tests.integration.budgets.days import DayLedger

KIB = 1 << 10
OF_PAGES = 10_000  # rows that the page and REST take


def peak_of(work: Callable[[], object]) -> int:
    """The most bytes that Python held at once, beyond what it held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def price_lines(count: int) -> Iterator[str]:
    """A price list of 12 months for each of many models."""
    yield "model,per_gpu_hour,valid_from\n"
    for n in range(count):
        yield f"Model-{n // 12},{1 + n % 7}.{n % 1000:03},2025-{1 + n % 12:02}-01\n"


def test_a_price_needs_less_than_a_kibibyte(db: None) -> None:
    del db
    options = ImportOptions(keep_unknown=True)
    count = 10_000
    assert peak_of(lambda: check_price_file(price_lines(count), options)) < count * KIB


def test_a_list_of_50_000_prices_is_checked(db: None) -> None:
    del db
    found = check_price_file(price_lines(50_000), ImportOptions(keep_unknown=True))
    assert len(found) == 50_000
    assert {offer.word for offer in found} == {"taken"}
    assert not UnitPrice.objects.exists()


def test_a_list_over_the_limit_is_read_no_further(db: None) -> None:
    del db
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for line in price_lines(200_000):
            read += 1
            yield line

    options = ImportOptions(keep_unknown=True, most_rows=OF_PAGES)
    with pytest.raises(PriceFileError, match="more than 10,000 rows: split the file"):
        check_price_file(lines(), options)
    assert read == OF_PAGES + 2  # the header, and the first row that is too many


def test_a_list_of_a_command_has_at_most_a_million_rows() -> None:
    rows = rows_of(price_lines(MOST_ROWS + 1))
    with pytest.raises(
        PriceFileError, match="more than 1,000,000 rows: split the file"
    ):
        for _ in rows:
            pass


def bill_file(path: Path, count: int) -> Path:
    """A bill of many rows, each of another resource."""
    header, row = focus(charge("1.25", "RESOURCE")).decode().splitlines()
    with path.open("w") as file:
        file.write(f"{header}\n")
        for n in range(count):
            file.write(row.replace("RESOURCE", f"volume-{n:07}") + "\n")
    return path


def imported(path: Path) -> BillImport:
    with path.open("rb") as file:
        return import_bill(
            file,
            name=path.name,
            saves=True,
            is_final=False,
            actor=SYSTEM,
            now=timezone.now(),
        )


def test_the_memory_of_a_bill_does_not_grow_with_its_rows(
    ledger: DayLedger, tmp_path: Path
) -> None:
    Fleet(ledger).node(1)
    few = bill_file(tmp_path / "few.csv", 5_000)
    many = bill_file(tmp_path / "many.csv", 25_000)
    imported(bill_file(tmp_path / "first.csv", 10))  # what is loaded only once
    of_few = peak_of(lambda: imported(few))
    of_many = peak_of(lambda: imported(many))
    assert of_many < of_few + 4 * KIB * KIB


def test_a_bill_of_50_000_rows_comes_to_its_sum(
    ledger: DayLedger, tmp_path: Path
) -> None:
    Fleet(ledger).node(1)
    found = imported(bill_file(tmp_path / "bill.csv", 50_000))
    [bill] = found.bills
    assert sum(bill.rows.values()) == bill.unmatched_rows == 50_000
    assert bill.total == 62_500


def packed(*parts: tuple[bytes, int]) -> io.BytesIO:
    """A compressed bill: its header, then each part, repeated."""
    header = focus(charge("1.25", "one")).splitlines(keepends=True)[0]
    text = header + b"".join(part * times for part, times in parts)
    return io.BytesIO(gzip.compress(text))


@pytest.mark.parametrize(
    ("part", "bounds", "fault"),
    [
        (b"\n", Bounds(lines=1_000), "more than 1,000 lines: split the file"),
        (b'"a\n",\n', Bounds(lines=1_000), "more than 1,000 lines: split the file"),
        (
            b"x" * 1_000 + b"\n",
            Bounds(characters=1 << 20),
            "more than 1 MB after decompression: split the file, or use manage.py import_bill",
        ),
        (
            b"\n",
            Bounds(seconds=0),
            "the import takes longer than 0 s: split the file, or use manage.py import_bill",
        ),
    ],
)
def test_lines_size_and_time_of_a_bill_are_bounded(
    part: bytes, bounds: Bounds, fault: str
) -> None:
    with pytest.raises(BillFileError, match=f"^{fault}$"):
        for _ in rows_of_bill(packed((part, 1_050)), bounds):
            pass


@pytest.mark.parametrize("unpacked", [Bounds(lines=9), Bounds(characters=1_000)])
def test_rows_of_parquet_are_bounded(unpacked: Bounds) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    names = ["row"] * 10 if unpacked.lines == 9 else ["x" * 200] * 10
    parquet.write_table(pyarrow.table({"ResourceId": names}), file)
    with pytest.raises(BillFileError, match=r"^more than"):
        for _ in rows_of_bill(file, unpacked):
            pass


def test_an_import_ends_when_its_time_is_over(
    ledger: DayLedger, tmp_path: Path
) -> None:
    """Wherever it is then: reading, matching or storing."""
    Fleet(ledger).node(1)
    path = bill_file(tmp_path / "bill.csv", 40_000)
    with (
        pytest.raises(BillFileError, match=r"takes longer than 0\.2 s"),
        path.open("rb") as file,
    ):
        import_bill(
            file,
            name=path.name,
            saves=True,
            actor=SYSTEM,
            now=timezone.now(),
            bounds=Bounds(seconds=0.2),
        )
    assert not Bill.objects.exists()
