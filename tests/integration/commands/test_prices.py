"""`manage.py prices import`: a dry run, all or nothing, and the real price list."""

from collections import Counter
from pathlib import Path

import pytest
from django.db import connection

from accounting.access.models.billing import Billing
from accounting.metering.models.cluster import Cluster, Gpu
from accounting.metering.models.ledger import DirtyHour
from accounting.prices.models.price import PriceList, UnitPrice
from tests.integration.commands.conftest import Ended, run
from tests.shared_data import DATA, missing

REAL = DATA / "prices" / "gpu_prices.csv"
MODELS = ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-40GB", "NVIDIA-L4", "Tesla-T4")
HEADER = "model,per_gpu_hour,valid_from,source_note"


@pytest.fixture(autouse=True)
def fleet(db: None) -> None:
    """GPUs of four models; bills in euros."""
    del db
    Billing.objects.create(
        currency="EUR", timezone="Europe/Berlin", valid_from="1970-01-01T00:00Z"
    )
    cluster = Cluster.objects.create(name="north")
    for model in MODELS:
        Gpu.objects.create(cluster=cluster, uuid=f"GPU-{model}", model=model)


def prices(tmp_path: Path, *lines: str, options: tuple[str, ...] = ()) -> Ended:
    path = tmp_path / "list.csv"
    path.write_bytes(("\ufeff" + "\n".join((HEADER, *lines)) + "\n").encode())
    return run("prices", "import", str(path), *options)


def stored() -> list[tuple[str, str, str, str | None]]:
    return [
        (
            row.model,
            f"{row.rate_per_gpu_hour.normalize():f}",
            f"{row.valid_from:%Y-%m-%dT%H:%MZ}",
            f"{row.valid_to:%Y-%m-%dT%H:%MZ}" if row.valid_to else None,
        )
        for row in UnitPrice.objects.order_by("model", "valid_from")
    ]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    ended = prices(tmp_path, "L4,0.74,2026-10-01,List 7")
    assert ended.code == 0
    assert "NVIDIA-L4" in ended.out
    assert "1 taken (dry run: nothing is saved; add --save)" in ended.err
    assert stored() == []


def test_saved_prices_begin_at_midnight_and_end_the_one_before(tmp_path: Path) -> None:
    prices(tmp_path, "L4,0.74,2026-10-01,List 7", options=("--save",))
    ended = prices(tmp_path, "L4,0.80,2026-11-01,List 8", options=("--save",))
    assert ended.code == 0
    assert "1 taken (saved)" in ended.err
    assert stored() == [
        ("NVIDIA-L4", "0.74", "2026-09-30T22:00Z", "2026-10-31T23:00Z"),
        ("NVIDIA-L4", "0.8", "2026-10-31T23:00Z", None),
    ]
    again = prices(tmp_path, "L4,0.80,2026-11-01,List 8", options=("--save",))
    assert (again.code, "1 same" in again.err) == (0, True)


def test_a_price_far_from_the_one_before_it_is_taken_with_a_warning(
    tmp_path: Path,
) -> None:
    """11 times: with a price of the book, and with one of the file."""
    prices(tmp_path, "L4,0.74,2026-10-01,", options=("--save",))
    ended = prices(tmp_path, "L4,8.14,2026-11-01,", "L4,0.74,2026-12-01,")
    assert (ended.code, "2 taken; 2 with a warning" in ended.err) == (0, True)
    assert "more than 10 times the price before it (EUR 0.74)" in ended.out
    assert "less than a tenth of the price before it (EUR 8.14)" in ended.out


def lists_of_prices() -> dict[str, tuple[str, str, str]]:
    """By model: the list, kind and currency of its price."""
    return {
        row.model: (str(row.price_list), row.kind, row.currency)
        for row in UnitPrice.objects.select_related("price_list")
    }


def test_rows_are_put_into_the_chosen_list(tmp_path: Path) -> None:
    """A row that names a list of its own is in that one; others take kind and currency, too."""
    PriceList.objects.create(kind="rate", name="Vendor 2027", currency="USD")
    PriceList.objects.create(kind="cost", name="Leasing", currency="EUR")
    path = tmp_path / "list.csv"
    path.write_text(
        "model,per_gpu_hour,valid_from,kind,currency,price_list\n"
        "L4,0.74,2026-10-01,,,\n"
        "T4,0.35,2026-10-01,cost,EUR,Leasing\n"
        "A100 40GB,1.10,2026-10-01,rate,USD,\n"
    )
    ended = run("prices", "import", str(path), "--save", "--price-list", "Vendor 2027")
    assert (ended.code, "3 taken (saved)" in ended.err) == (0, True)
    vendor = ("Vendor 2027 (rate, USD)", "rate", "USD")
    assert lists_of_prices() == {
        "NVIDIA-L4": vendor,
        "Tesla-T4": ("Leasing (cost, EUR)", "cost", "EUR"),
        "NVIDIA-A100-SXM4-40GB": vendor,
    }
    plain = prices(tmp_path, "A100 80GB,2,2026-10-01,", options=("--save",))
    assert plain.code == 0
    assert lists_of_prices()["NVIDIA-A100-SXM4-80GB"][0] == "Rates in EUR (rate, EUR)"


@pytest.mark.parametrize(
    ("row", "chosen", "message"),
    [
        (
            "L4,1,2026-10-01,cost,EUR,",
            "Vendor",
            "line 2: the list 'Vendor' has prices of the kind rate only: this price is a cost",
        ),
        (
            "L4,1,2026-10-01,,EUR,",
            "Vendor",
            "line 2: the list 'Vendor' is in USD: this price is a rate in EUR",
        ),
        (
            "L4,1,2026-10-01,,,Other",
            "Vendor",
            "line 2: price list 'Other' is not known",
        ),
        ("L4,1,2026-10-01,,,Vendor", "", "line 2: the list 'Vendor' is in USD"),
        ("L4,1,2026-10-01,,,", "Nobody's", 'there is no price list "Nobody\'s"'),
        ("L4,1,2026-10-01,,,", "Both", "two lists are named 'Both'; use a number"),
    ],
)
def test_a_list_of_another_kind_or_currency_refuses_the_file(
    tmp_path: Path, row: str, chosen: str, message: str
) -> None:
    PriceList.objects.create(kind="rate", name="Vendor", currency="USD")
    for kind in ("rate", "cost"):
        PriceList.objects.create(kind=kind, name="Both", currency="EUR")
    path = tmp_path / "list.csv"
    header = "model,per_gpu_hour,valid_from,kind,currency,price_list"
    path.write_text(f"{header}\n{row}\n")
    options = ("--price-list", chosen) if chosen else ()
    ended = run("prices", "import", str(path), "--save", *options)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert stored() == []


def test_an_offer_that_is_not_taken_is_a_finding(tmp_path: Path) -> None:
    ended = prices(
        tmp_path, "L4,0.74,2026-10-01,", "H100,3,2026-10-01,", options=("--save",)
    )
    assert ended.code == 1
    assert "1 taken, 1 unknown_model (saved)" in ended.err
    assert len(stored()) == 1


def test_a_text_for_several_models_is_a_price_for_each(tmp_path: Path) -> None:
    prices(tmp_path, "A100,2,2026-10-01,", options=("--save",))
    assert [row[0] for row in stored()] == [MODELS[1], MODELS[0]]


def test_an_alias_and_an_unknown_model(tmp_path: Path) -> None:
    options = ("--save", "--alias", "our card=NVIDIA-L4", "--keep-unknown")
    prices(
        tmp_path, "our card,1,2026-10-01,", "NVIDIA B300,9,2026-10-01,", options=options
    )
    assert [row[0] for row in stored()] == ["NVIDIA-B300", "NVIDIA-L4"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('L4,1,2026-10-01,"a\x1b[31mb"', "line 2: source_note"),
        ("L4,1,2026-10-01", "line 2: 3 cells"),
        ('L4,1,2026-10-01,"open', "not valid CSV"),
    ],
)
def test_a_file_that_cannot_be_used_names_its_line(
    tmp_path: Path, line: str, text: str
) -> None:
    ended = prices(tmp_path, "L4,1,2026-09-01,", line, options=("--save",))
    assert ended.code == 2
    assert text.replace("line 2", "line 3") in ended.err
    assert stored() == []


@pytest.mark.parametrize("option", ["lifecycle=sopt", "cluster=moon", "kind=gift"])
def test_a_name_that_is_not_known_is_wrong_use(tmp_path: Path, option: str) -> None:
    ended = prices(tmp_path, "L4,1,2026-10-01,", options=("--set", option))
    assert ended.code == 2
    assert option.partition("=")[2] in ended.err


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes(f"{HEADER}\nL4,1,2026-10-01,Preisliste f\xfcr\n".encode("latin-1"))
    ended = run("prices", "import", str(path))
    assert ended.code == 2
    assert "not UTF-8" in ended.err


def test_an_import_that_fails_at_its_end_leaves_nothing(tmp_path: Path) -> None:
    """Another price that the check did not see: the table refuses the overlap."""
    with connection.cursor() as cursor:
        cursor.execute(
            """CREATE FUNCTION refuse_l4() RETURNS trigger LANGUAGE plpgsql AS $$
               BEGIN
                   IF NEW.model = 'NVIDIA-L4' THEN
                       RAISE EXCEPTION 'no' USING ERRCODE = 'exclusion_violation';
                   END IF;
                   RETURN NEW;
               END $$;
               CREATE TRIGGER refuse_l4 BEFORE INSERT ON accounting_unitprice
               FOR EACH ROW EXECUTE FUNCTION refuse_l4()"""
        )
    lines = ("T4,0.5,2026-10-01,", "L4,1,2026-10-01,")
    ended = prices(tmp_path, *lines, options=("--save",))
    assert ended.code == 2
    assert "changed during the import" in ended.err
    assert stored() == []
    assert not DirtyHour.objects.exists()


@pytest.mark.skipif(not REAL.exists(), reason=missing("prices/gpu_prices.csv"))
def test_the_real_price_list() -> None:
    """397 rows with two prices each; models are spelled in three ways."""
    options = (
        *("--map", "per_gpu_hour=on_demand_per_gpu_hour:on-demand"),
        *("--map", "per_gpu_hour=spot_per_gpu_hour:spot"),
        *("--map", "memory=gpu_memory_gib", "--map", "count=gpu_count"),
        *("--map", "valid_from=as_of", "--map", "source_note=source"),
        *("--pick", "median", "--format", "csv"),
    )
    ended = run("prices", "import", str(REAL), *options, "--where", "currency=USD")
    assert ended.code == 1
    lines = ended.out.splitlines()
    words = Counter(line.split(",")[3] for line in lines[1:])
    assert words["filtered"] == 2 * 14
    assert words["no_count"] == 2 * 5
    assert words["bad_date"] > 0
    assert words["taken"] > 4
    assert not any(word for word in words if not word.islower())
    saved = run(
        "prices", "import", str(REAL), *options, "--where", "currency=USD", "--save"
    )
    assert UnitPrice.objects.count() == words["taken"]
    assert f"{words['taken']} taken" in saved.err
    assert {row.currency for row in UnitPrice.objects.all()} == {"USD"}
