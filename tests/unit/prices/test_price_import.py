"""Each word of the import of a price list, by hand (money.md M19)."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounting.prices.rules.model_spelling import Spelling
from accounting.prices.rules.price_file import columns_of, rows_of
from accounting.prices.rules.price_import import WORDS, Booked, check_offers
from accounting.prices.rules.price_offers import Offer, PriceFileError, Rules, offers_of

A100, L40S = "NVIDIA-A100-SXM4-80GB", "NVIDIA-L40S"
DAY = datetime(2026, 10, 1, tzinfo=UTC)
Book = dict[tuple[str, ...], list[Booked]]


def read(
    *lines: str, header: str = "model,per_gpu_hour,valid_from", **options: list[str]
) -> list[Offer]:
    """The offers of a file before they are compared."""
    rows = rows_of([f"{line}\r\n" for line in (header, *lines)])
    _, names = next(rows)
    columns = columns_of(
        list(names),
        options.get("maps", []),
        options.get("sets", []),
        options.get("wheres", []),
    )
    rules = Rules(
        spelling=Spelling([A100, L40S]),
        currencies=frozenset({"EUR", "USD"}),
        billing_currency="EUR",
        instant=lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
        check=lambda offer: offer,
    )
    return list(offers_of(rows, columns, rules))


def words(
    *lines: str, pick: str = "", book: Book | None = None, **more: object
) -> list[str]:
    found = read(*lines, **more)  # type: ignore[arg-type]
    return [offer.word for offer in check_offers(found, book or {}, pick)]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("A100,2.10,2026-10-01", "taken"),
        ("A100,0,2026-10-01", "taken"),
        ("A100,999999.999999,2026-10-01", "taken"),
        ("A100,,2026-10-01", "no_price"),
        ("A100, ,2026-10-01", "no_price"),
        ("A100,two,2026-10-01", "bad_number"),
        ("A100,-1,2026-10-01", "bad_number"),
        ("A100,1000000,2026-10-01", "bad_number"),
        ("A100,1.0000001,2026-10-01", "bad_number"),
        ("A100,NaN,2026-10-01", "bad_number"),
        ("A100,1e999999999,2026-10-01", "bad_number"),
        ("A100,٢,2026-10-01", "bad_number"),
        ("A100,1_0,2026-10-01", "bad_number"),
        ('A100,"2,10",2026-10-01', "bad_number"),
        ("A100,=1+1,2026-10-01", "bad_number"),
        ("A100,2.10,undated", "bad_date"),
        ("A100,2.10,", "bad_date"),
        ("A100,2.10,2026-02-30", "bad_date"),
        ("=cmd|' /C calc'!A0,2.10,2026-10-01", "unknown_model"),
        ("H100,2.10,2026-10-01", "unknown_model"),
        ("NVIDIA,2.10,2026-10-01", "unknown_model"),
        (",2.10,2026-10-01", "unknown_model"),
    ],
)
def test_a_row_gets_the_first_word_that_fits(line: str, word: str) -> None:
    assert words(line) == [word]


def test_every_word_is_defined() -> None:
    assert len(WORDS) == len(set(WORDS)) == 12


def test_rows_that_are_not_wanted_are_filtered_whatever_they_hold() -> None:
    header = "model,per_gpu_hour,valid_from,cloud"
    found = words(
        "A100,2,2026-10-01,AWS",
        "A100,x,x,GCP",
        header=header,
        wheres=["cloud=AWS"],
    )
    assert found == ["taken", "filtered"]
    either = ["cloud=AWS", "cloud=GCP"]
    assert words("A100,2,2026-10-01,GCP", header=header, wheres=either) == ["taken"]


@pytest.mark.parametrize(
    ("count", "word"), [("0", "no_count"), ("8", "taken"), ("x", "bad_number")]
)
def test_a_row_without_gpus_is_not_a_price(count: str, word: str) -> None:
    header = "model,per_gpu_hour,valid_from,n"
    line = f"A100,2,2026-10-01,{count}"
    assert words(line, header=header, maps=["count=n"]) == [word]


@pytest.mark.parametrize(
    ("currency", "kind", "word"),
    [
        ("", "rate", "taken"),
        ("USD", "rate", "taken"),
        ("usd", "rate", "bad_currency"),
        ("XXY", "rate", "bad_currency"),
        ("USD", "cost", "bad_currency"),
        ("EUR", "cost", "taken"),
    ],
)
def test_a_currency_is_of_iso_4217_and_that_of_bills_for_costs(
    currency: str, kind: str, word: str
) -> None:
    header = "model,per_gpu_hour,valid_from,currency"
    line = f"A100,2,2026-10-01,{currency}"
    assert words(line, header=header, sets=[f"kind={kind}"]) == [word]


def test_a_price_a_hundred_times_the_median_is_absurd() -> None:
    """The lower median of 1, 1, 100 and 101 is 1: 100 is at the limit."""
    rows = [f"A100,{n},2026-{10 + at:02}-01" for at, n in enumerate(("1", "1", "100"))]
    far = "A100,101,2027-01-01"
    assert words(*rows, far) == ["taken"] * 3 + ["absurd"]
    assert words("A100,1,2026-10-01", "A100,0.009,2026-11-01") == ["absurd", "taken"]


@pytest.mark.parametrize(
    ("pick", "expected", "price"),
    [
        ("", ["conflict"] * 4, None),
        ("lowest", ["conflict", "taken", "conflict", "same"], "1"),
        ("highest", ["conflict", "conflict", "taken", "conflict"], "3"),
        ("median", ["conflict", "taken", "conflict", "same"], "1"),
        ("first", ["taken", "conflict", "conflict", "conflict"], "2"),
    ],
)
def test_of_several_prices_one_is_picked(
    pick: str, expected: list[str], price: str | None
) -> None:
    """Prices 2, 1, 3, 1 of the same dates: the lower median is 1."""
    lines = [f"A100,{n},2026-10-01" for n in (2, 1, 3, 1)]
    found = check_offers(read(*lines), {}, pick)
    assert [offer.word for offer in found] == expected
    assert [str(o.price) for o in found if o.word == "taken"] == [price][: bool(price)]


def test_of_two_currencies_only_the_first_can_be_picked() -> None:
    header = "model,per_gpu_hour,valid_from,currency"
    lines = ("A100,2,2026-10-01,USD", "A100,2,2026-10-01,EUR")
    for pick in ("", "lowest", "highest", "median"):
        assert words(*lines, header=header, pick=pick) == ["conflict"] * 2
    assert words(*lines, header=header, pick="first") == ["taken", "conflict"]


def test_the_same_row_again_is_the_same() -> None:
    assert words(*["A100,2,2026-10-01"] * 3) == ["taken", "same", "same"]


def test_a_price_without_an_end_ends_at_the_next() -> None:
    found = check_offers(read("A100,3,2026-12-01", "A100,2,2026-10-01"), {})
    december = datetime(2026, 12, 1, tzinfo=UTC)
    assert [(o.word, o.valid_to) for o in found] == [
        ("taken", None),
        ("taken", december),
    ]


def test_prices_of_a_file_that_overlap() -> None:
    header = "model,per_gpu_hour,valid_from,valid_to"
    found = words(
        "A100,2,2026-10-01,2026-12-01",
        "A100,3,2026-11-01,2027-01-01",
        "A100,4,2026-12-01,",
        "A100,4,2027-12-01,2027-11-01",
        header=header,
    )
    assert found == ["taken", "overlap", "taken", "bad_date"]


def booked(start: datetime, end: datetime | None, price: str = "2") -> Book:
    sets = ("rate", A100, "", "", "", "")
    return {sets: [Booked(sets, Decimal(price), "EUR", start, end)]}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("A100,3,2026-11-01,", "taken"),  # ends the one in the book
        ("A100,3,2026-09-01,", "taken"),  # ends where that one begins
        ("A100,3,2026-09-01,2026-10-01", "taken"),
        ("A100,3,2026-09-01,2026-10-02", "overlap"),
        ("A100,3,2026-11-01,2026-12-01", "overlap"),
        ("A100,3,2026-10-01,", "overlap"),
        ("A100,2,2026-10-01,", "same"),
        ("L40S,3,2026-10-01,", "taken"),
    ],
)
def test_a_price_beside_the_book(line: str, word: str) -> None:
    header = "model,per_gpu_hour,valid_from,valid_to"
    assert words(line, header=header, book=booked(DAY, None)) == [word]


def test_two_price_columns_are_two_lifecycles() -> None:
    maps = ["per_gpu_hour=od:on-demand", "per_gpu_hour=spot:spot"]
    header = "model,od,spot,valid_from"
    found = check_offers(read("A100,2,,2026-10-01", header=header, maps=maps), {})
    assert [(o.column, o.lifecycle, o.word) for o in found] == [
        ("od", "on-demand", "taken"),
        ("spot", "spot", "no_price"),
    ]


@pytest.mark.parametrize(
    ("header", "options", "text"),
    [
        ("", {}, "no header"),
        ("model,model,per_gpu_hour,valid_from", {}, "'model' is there more than once"),
        ("name,per_gpu_hour,valid_from", {}, "no column for model"),
        ("model,price,valid_from", {}, "no column for per_gpu_hour"),
        ("model,per_gpu_hour", {}, "no column for valid_from"),
        ("model,per_gpu_hour,valid_from", {"maps": ["x=model"]}, "field 'x'"),
        ("model,per_gpu_hour,valid_from", {"maps": ["tier=x"]}, "column 'x'"),
        ("model,per_gpu_hour,valid_from", {"maps": ["tier"]}, "write FIELD=COLUMN"),
        ("model,per_gpu_hour,valid_from", {"sets": ["x=1"]}, "field 'x'"),
        ("model,per_gpu_hour,valid_from", {"wheres": ["x=1"]}, "column 'x'"),
    ],
)
def test_a_file_that_cannot_be_used(
    header: str, options: dict[str, list[str]], text: str
) -> None:
    with pytest.raises(PriceFileError, match=text):
        read("A100,2,2026-10-01", header=header, **options)


def test_a_row_with_other_cells_names_its_line() -> None:
    with pytest.raises(PriceFileError, match="line 3: 2 cells, and the header has 3"):
        read("A100,2,2026-10-01", "A100,2")
