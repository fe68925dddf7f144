"""New prices over REST: the preview, warnings, and the cluster's own price (money.md M13, M21).

What a price must be is in `test_writes.py`; what a preview computes in
`prices/test_price_effect.py`.
"""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounting.months.tasks.close import close_period
from accounting.prices.models.price import UnitPrice
from tests.integration.api.conftest import Ask, problem

BODY: dict[str, Any] = {
    "model": "NVIDIA-L40S",
    "rate_per_gpu_hour": "2",
    "valid_from": "2026-10-20",
    "reason": "Found in the contract.",
}


def post(ask: Ask, address: str, body: object, name: str = "ana") -> Any:
    return ask(name).post(f"/api/v1/{address}", body, content_type="application/json")


def test_a_preview_changes_nothing_and_says_what_becomes_a_correction(
    ask: Ask,
) -> None:
    close_period("2026-10")
    before = list(UnitPrice.objects.values_list())
    answer = post(
        ask,
        "prices/preview",
        {name: one for name, one in BODY.items() if name != "reason"},
    )
    assert answer.status_code == 200
    found = answer.json()
    assert (found["currency"], found["corrected_in"]) == ("EUR", "2026-11")
    october, november = found["months"]
    assert (october["period"], october["is_closed"]) == ("2026-10", True)
    assert (november["period"], november["is_closed"]) == ("2026-11", False)
    assert october["difference"] == found["corrections"] != "0.000000"
    by_team = {row["team"]: row for row in found["teams"]}
    assert "platform" in by_team
    cents = [round(float(row["corrections"]) * 100) for row in found["teams"]]
    assert sum(cents) == round(float(found["corrections"]) * 100)
    assert found["days"] > 30
    assert list(UnitPrice.objects.values_list()) == before


def test_a_preview_is_refused_as_the_price_would_be(ask: Ask) -> None:
    ended = BODY | {"valid_to": "2026-10-21"}
    answer = post(ask, "prices/preview", ended)
    assert "cannot overlap" in problem(answer)["detail"]
    assert answer.status_code == 409
    assert post(ask, "prices/preview", BODY, "fin").status_code == 403
    wrong = post(ask, "prices/preview", BODY | {"rate_per_gpu_hour": "-1"})
    assert "#/rate_per_gpu_hour" in problem(wrong)["detail"]
    cost = BODY | {"rate_per_gpu_hour": None, "cost_per_gpu_hour": "1"}
    assert post(ask, "prices/preview", cost).json()["days"] == 0


@pytest.mark.parametrize(
    ("price", "code"),
    [("0", "zero"), ("900", "over_ten_times"), ("0.001", "under_a_tenth")],
)
def test_a_price_far_from_the_one_before_it_is_saved_with_a_warning(
    ask: Ask, price: str, code: str
) -> None:
    body = BODY | {"rate_per_gpu_hour": price}
    shown = post(ask, "prices/preview", body).json()["warnings"]
    saved = post(ask, "prices", body)
    assert saved.status_code == 201
    assert saved.json()["warnings"] == shown
    assert [(one["kind"], one["code"]) for one in shown] == [("rate", code)]


def test_a_clusters_own_price_stands_beside_that_of_all(ask: Ask) -> None:
    saved = post(ask, "prices", BODY | {"cluster": "north"})
    assert saved.status_code == 201
    assert saved.json()["warnings"] == []


LIST: dict[str, Any] = {
    "kind": "rate",
    "name": "Vendor 2027",
    "currency": "USD",
    "source": "Contract 4711",
    "reason": "The vendor's new list.",
}


def patch(ask: Ask, number: int, body: object) -> Any:
    path = f"/api/v1/price-lists/{number}"
    return ask("ana").patch(path, body, content_type="application/json")


def test_a_list_is_created_named_and_takes_prices(ask: Ask) -> None:
    made = post(ask, "price-lists", LIST)
    assert made.status_code == 201
    row = made.json()
    assert row == {
        **{name: LIST[name] for name in ("kind", "name", "currency", "source")},
        "id": row["id"],
        "price_count": 0,
    }
    assert "is named 'Vendor 2027'" in problem(post(ask, "price-lists", LIST))["detail"]
    of = BODY | {"price_list": row["id"], "lifecycle": "spot"}
    price = post(ask, "prices", of).json()
    assert (price["price_list"], price["currency"]) == ("Vendor 2027", "USD")
    renamed = {"name": "Vendor", "reason": "Its short name."}
    changed = patch(ask, row["id"], renamed)
    assert changed.json() == row | {"name": "Vendor", "price_count": 1}
    post(ask, "price-lists", LIST | {"kind": "cost", "currency": "EUR"})
    seen = ask("mia").get("/api/v1/price-lists").json()["rows"]
    assert [(one["name"], one["source"]) for one in seen] == [("Vendor", "")]
    first = ask("fin").get("/api/v1/price-lists?limit=1").json()
    then = ask("fin").get(f"/api/v1/price-lists?limit=1&cursor={first['next']}").json()
    assert [row["kind"] for row in first["rows"] + then["rows"]] == ["cost", "rate"]


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"kind": "cost"}, 400, "costs are in the billing currency, EUR"),
        ({"kind": "fee"}, 400, "use rate, cost"),
        ({"currency": "XYZ"}, 400, "not an ISO 4217 currency"),
        ({"name": " "}, 400, "blank"),
        ({"reason": "short"}, 400, "at least 10"),
    ],
)
def test_what_a_list_cannot_be(
    ask: Ask, more: dict[str, str], code: int, words: str
) -> None:
    answer = post(ask, "price-lists", LIST | more)
    assert (answer.status_code, words in problem(answer)["detail"]) == (code, True)


def test_a_list_takes_prices_of_its_kind_and_currency_only(ask: Ask) -> None:
    number = post(ask, "price-lists", LIST).json()["id"]
    of = BODY | {"price_list": number}
    for more, words in (
        ({"currency": "EUR"}, "is in USD"),
        ({"cost_per_gpu_hour": "1"}, "of the kind rate only"),
        ({"price_list": 99_999}, "There is no price list 99999"),
    ):
        answer = post(ask, "prices", of | more)
        assert (answer.status_code, words in problem(answer)["detail"]) == (400, True)
    assert post(ask, "price-lists", LIST, "fin").status_code == 403
    body = {"reason": "Its short name."}
    assert patch(ask, 99_999, body).status_code == 404
    assert patch(ask, number, body).json()["name"] == "Vendor 2027"


FILE = (
    "\ufeffmodel,per_gpu_hour,valid_from,source_note\r\n"
    "L40S,2.10,2026-12-01,=1+1\r\n"
    "L40S,,2026-12-01,\r\n"
    "Nothing like it,3,2026-12-01,\r\n"
)


def send(ask: Ask, content: bytes, query: str = "", name: str = "ana") -> Any:
    return ask(name).post(
        f"/api/v1/prices/import{query}", content, content_type="text/csv"
    )


def test_a_file_is_checked_and_then_saved(ask: Ask) -> None:
    before = UnitPrice.objects.count()
    checked = send(ask, FILE.encode())
    assert checked.status_code == 200
    found = checked.json()
    assert found["is_saved"] is False
    assert found["counts"] == {"no_price": 1, "unknown_model": 1, "taken": 1}
    assert [(row["line"], row["word"]) for row in found["rows"]] == [
        (2, "taken"),
        (3, "no_price"),
        (4, "unknown_model"),
    ]
    assert UnitPrice.objects.count() == before
    query = "?dry_run=false&reason=The+list+of+December"
    assert send(ask, FILE.encode(), query).json()["is_saved"] is True
    [price] = UnitPrice.objects.filter(source_note="=1+1")
    assert f"{price.valid_from:%Y-%m-%dT%H:%MZ}" == "2026-11-30T23:00Z"
    notes = {
        name: [
            row["source_note"] for row in ask(name).get("/api/v1/prices").json()["rows"]
        ]
        for name in ("fin", "luis")
    }
    assert "=1+1" in notes["fin"]
    assert set(notes["luis"]) == {""}  # where prices are from is not for leads
    again = send(ask, FILE.encode(), query).json()
    assert again["counts"] == {"no_price": 1, "unknown_model": 1, "same": 1}


def test_finance_checks_a_file_and_does_not_save_it(ask: Ask) -> None:
    before = UnitPrice.objects.count()
    checked = send(ask, FILE.encode(), name="fin").json()
    assert checked["counts"] == {"no_price": 1, "unknown_model": 1, "taken": 1}
    query = "?dry_run=false&reason=The+list+of+December"
    assert send(ask, FILE.encode(), query, "fin").status_code == 403
    assert send(ask, FILE.encode(), name="luis").status_code == 403
    assert UnitPrice.objects.count() == before


def test_a_file_goes_into_the_chosen_list(ask: Ask) -> None:
    number = post(ask, "price-lists", LIST).json()["id"]
    query = f"?price_list={number}&dry_run=false&reason=The+list+of+December"
    saved = send(ask, FILE.encode(), query).json()
    first = saved["rows"][0]
    assert (first["word"], first["price_list"], first["currency"]) == (
        *("taken", "Vendor 2027", "USD"),
    )
    assert UnitPrice.objects.get(source_note="=1+1").price_list_id == number
    content = b"model,per_gpu_hour,valid_from,currency\nL40S,2,2027-01-01,EUR\n"
    other = send(ask, content, f"?price_list={number}")
    assert "line 2: the list 'Vendor 2027' is in USD" in problem(other)["detail"]
    for wrong in ("99999", "none"):
        refused = send(ask, FILE.encode(), f"?price_list={wrong}")
        assert problem(refused)["status"] == 400


def test_a_file_in_a_form_has_its_options_there(ask: Ask) -> None:
    content = b"gpu,usd\nL40S,2.10\n"
    fields = {
        "map": ["model=gpu", "per_gpu_hour=usd"],
        "set": ["valid_from=2026-12-01", "currency=USD"],
    }
    upload = SimpleUploadedFile("list.csv", content)
    client = ask("ana")
    found = client.post("/api/v1/prices/import", fields | {"file": upload}).json()
    assert [(row["currency"], row["word"]) for row in found["rows"]] == [
        ("USD", "taken")
    ]
    assert client.post("/api/v1/prices/import", fields).status_code == 400


@pytest.mark.parametrize(
    ("content", "query", "words"),
    [
        (b"", "", "Send a CSV file as the body"),
        (b"model\n", "", "no column for valid_from"),
        (b"model,valid_from\n\xff\n", "", "not UTF-8: byte 17"),
        (b"model,valid_from\n\0\n", "", "NUL character"),
        (
            b"model,valid_from,per_gpu_hour\n" + b"a,b,c\n" * 10_001,
            "",
            "more than 10,000",
        ),
        (FILE.encode(), "?save=yes", "unknown option 'save'"),
        (FILE.encode(), "?dry_run=false", "Give a reason to save."),
        (FILE.encode(), "?pick=any", "not a valid choice"),
        (FILE.encode(), "?pick=first&pick=lowest", "more than once"),
        (FILE.encode(), "?map=model", "write FIELD=COLUMN"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    ask: Ask, content: bytes, query: str, words: str
) -> None:
    before = UnitPrice.objects.count()
    answer = send(ask, content, query)
    assert (answer.status_code, words in problem(answer)["detail"]) == (400, True)
    assert UnitPrice.objects.count() == before


def test_a_token_that_only_reads_may_not_import(ask: Ask) -> None:
    reader = ask("ana", scopes=("read:prices",))
    answer = reader.post("/api/v1/prices/import", FILE, content_type="text/csv")
    assert answer.status_code == 403
