"""Pages of prices: lists, the price of a list, and the import of a file (money.md M13, M19).

The form of a price is in `test_flows.py`, the words of rows in `commands/test_prices.py`.
"""

import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounting.months.tasks.price_effect import NewRate, price_effect
from accounting.prices.models.price import PriceList, UnitPrice
from accounting.prices.models.price_draft import DraftState, PriceDraft
from tests.integration.conftest import SignIn
from tests.integration.prices.previewed_price import save_price
from tests.page_html import html_of

REASON = "Agreed in the finance round of November"
LIST = {
    "kind": "rate",
    "name": "Vendor 2027",
    "currency": "USD",
    "source": "Contract 4711",
    "reason": REASON,
}
CAST = ("ana", "fin", "luis", "mia")
FILE = (
    "\ufeffgpu,usd,source_note\r\n"
    'NVIDIA L40S,2.10,"=1+1, ""two"""\r\n'
    "NVIDIA L40S,,\r\n"
    "<b>Nothing</b>,3,\r\n"
)
OPTIONS = {
    "map": "model=gpu\nper_gpu_hour=usd",
    "set": "valid_from=2026-12-01\ncurrency=USD",
}


def text_of(answer: Any) -> str:
    """A page without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html_of(answer))).split())


def upload(client: Client, content: bytes, **more: str) -> Any:
    file = SimpleUploadedFile("list.csv", content)
    return client.post("/prices/import", OPTIONS | more | {"file": file})


def hidden(answer: Any) -> dict[str, Any]:
    """The fields of the form that saves, as a browser sends them."""
    form = answer.context["confirm"]
    names = ("text", "seen", *(field.name for field in answer.context["hidden"]))
    return {name: form[name].value() or "" for name in names}


def test_a_list_is_made_renamed_and_gives_prices_its_currency(sign_in: SignIn) -> None:
    client = sign_in("ana")
    assert client.post("/prices/lists/new", LIST).status_code == 302
    made = PriceList.objects.get(name="Vendor 2027")
    again = client.post("/prices/lists/new", LIST)
    assert again.status_code == 422
    assert "Another list of the kind rate is named" in html_of(again)
    changed = {"name": "Vendor", "source": "", "reason": REASON}
    client.post(f"/prices/lists/{made.pk}", changed)
    page = html_of(client.get("/prices"))
    assert f'href="/prices/lists/{made.pk}"' in page
    assert "Vendor 2027" not in page

    values = {
        "model": "NVIDIA-L40S",
        "lifecycle": "spot",
        "valid_from": "2026-12-01",
        "rate_per_gpu_hour": "1.5",
        "price_list": str(made.pk),
        "reason": REASON,
    }
    wrong = client.post("/prices/new", values | {"cost_per_gpu_hour": "1"})
    assert "has prices of the kind rate only" in html_of(wrong)
    save_price(client, values)
    price = UnitPrice.objects.get(price_list=made)
    assert (price.currency, price.kind) == ("USD", "rate")
    form = client.get(f"/prices/new?price={price.pk}").context["form"]
    assert form["price_list"].initial == made.pk


def test_finance_sees_lists_and_only_admins_change_them(sign_in: SignIn) -> None:
    made = PriceList.objects.create(kind="cost", name="Leasing", currency="EUR")
    page = html_of(sign_in("fin").get("/prices"))
    assert "Leasing" in page
    assert f"/prices/lists/{made.pk}" not in page
    assert "Leasing" not in html_of(sign_in("mia").get("/prices"))


def test_a_file_is_checked_shown_and_saved(sign_in: SignIn) -> None:
    client = sign_in("ana")
    before = UnitPrice.objects.count()
    shown = upload(client, FILE.encode())
    page = html_of(shown)
    assert shown.status_code == 200
    assert "1 taken, 1 unknown model, 1 no price." in page
    assert "&lt;b&gt;Nothing&lt;/b&gt;" in page
    assert "Save 1 price" in page
    assert UnitPrice.objects.count() == before

    fields = hidden(shown)
    short = client.post("/prices/import", fields | {"reason": "short"})
    assert short.status_code == 422
    assert "at least 10 characters" in html_of(short)
    saved = client.post("/prices/import", hidden(short) | {"reason": REASON})
    assert saved.status_code == 302
    [price] = UnitPrice.objects.filter(source_note='=1+1, "two"')
    assert (price.currency, str(price.rate_per_gpu_hour)) == ("USD", "2.100000")


def test_a_file_goes_into_the_list_that_is_chosen(sign_in: SignIn) -> None:
    """From the list's row on the page of prices to a price of that list."""
    client = sign_in("ana")
    client.post("/prices/lists/new", LIST)
    made = PriceList.objects.get(name="Vendor 2027")
    address = f"/prices/import?price_list={made.pk}"
    assert f'href="{address}"' in html_of(client.get("/prices"))
    chosen = client.get(address).context["form"]["price_list"]
    assert f'value="{made.pk}" selected' in str(chosen)
    more = {"price_list": str(made.pk), "set": "valid_from=2026-12-01"}
    shown = upload(client, FILE.encode(), **more)
    assert "Vendor 2027" in html_of(shown)
    client.post("/prices/import", hidden(shown) | {"reason": REASON})
    [price] = UnitPrice.objects.filter(price_list=made)
    assert (price.currency, price.kind) == ("USD", "rate")
    euros = {"price_list": str(made.pk), "set": OPTIONS["set"].replace("USD", "EUR")}
    wrong = upload(client, FILE.encode(), **euros)
    assert wrong.status_code == 422
    assert "Line 2: the list &#x27;Vendor 2027&#x27; is in USD" in html_of(wrong)


def test_what_changed_since_the_check_is_shown_again(sign_in: SignIn) -> None:
    client = sign_in("ana")
    fields = hidden(upload(client, FILE.encode())) | {"reason": REASON}
    UnitPrice.objects.filter(model="NVIDIA-L40S").delete()
    UnitPrice.objects.create(
        model="NVIDIA-L40S",
        currency="USD",
        rate_per_gpu_hour="2.10",
        valid_from="2026-11-30T23:00Z",
    )
    again = client.post("/prices/import", fields)
    assert again.status_code == 422
    assert "The price book changed since this check" in html_of(again)
    assert "1 already there" in html_of(again)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The submitted file is empty."),
        (b"gpu\n", "Column &#x27;usd&#x27; is not known"),
        (b"gpu,usd\n\xff\n", "Not UTF-8: byte 8."),
        (b"gpu,usd\n\0,1\n", "contains a NUL character"),
        (b"gpu,usd\n" + b"a,1\n" * 10_001, "More than 10,000 rows"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    sign_in: SignIn, content: bytes, words: str
) -> None:
    answer = upload(sign_in("ana"), content)
    assert answer.status_code == 422
    assert words in html_of(answer)


def test_a_refused_row_shows_its_value_and_what_would_be_right(
    sign_in: SignIn,
) -> None:
    content = (
        b"gpu,usd\nNVIDIA L40S,abc\n"
        b'NVIDIA L40S,"0,72"\nNVIDIA L40S,-1\nNVIDIA L40SS,2\nNVIDIA L40S,0.1234567\n'
    )
    page = text_of(upload(sign_in("ana"), content))
    assert "“abc” is not a plain number" in page
    assert "“0,72” is not a plain number: write 0.72" in page
    assert "-1 is negative: a price is 0 or more" in page
    assert "did you mean NVIDIA-L40S?" in page
    assert "0.1234567 has more than six decimals: write 0.123457" in page


def test_a_model_that_is_spelled_in_another_way_is_named(sign_in: SignIn) -> None:
    page = text_of(upload(sign_in("ana"), FILE.encode()))
    assert "The file spells 1 model in another way" in page
    assert "NVIDIA L40S is NVIDIA-L40S" in page


def test_what_an_import_changes_is_shown_before_it_is_saved(sign_in: SignIn) -> None:
    future = text_of(upload(sign_in("ana"), FILE.encode()))
    assert "No charge changes" in future
    begun = {"set": "valid_from=2026-11-01\ncurrency=EUR"}
    content = b"gpu,usd\nL40S,9.99\nH100,20\n"
    answer = upload(sign_in("ana"), content, **begun)
    effect = answer.context["effect"]
    assert effect.total > 0
    rates = [NewRate(*each) for each in _rates(answer)]
    alone = [price_effect(rate, 2) for rate in rates]
    assert len(alone) == 2
    assert abs(effect.total - sum(one.total for one in alone)) <= Decimal("0.02")
    assert "This changes" in text_of(answer)


def _rates(answer: Any) -> list[tuple[Any, ...]]:
    return [
        (one.model, one.price, one.currency, one.valid_from, one.valid_to)
        for one, _ in answer.context["rows"]
    ]


def sent(sign_in: SignIn, name: str = "fin") -> PriceDraft:
    """A list that somebody of finance sent to an administrator."""
    client = sign_in(name)
    checked = upload(client, FILE.encode())
    assert "Send to an administrator" in text_of(checked)
    answer = client.post("/prices/import", hidden(checked) | {"reason": REASON})
    draft = PriceDraft.objects.latest("pk")
    assert answer.headers["Location"] == f"/prices/drafts/{draft.pk}"
    return draft


def seen_by(client: Client, draft: PriceDraft) -> dict[str, str]:
    form = client.get(f"/prices/drafts/{draft.pk}").context["confirm"]
    return {"seen": form["seen"].value(), "reason": form["reason"].value()}


def test_finance_prepares_a_list_that_an_administrator_saves(sign_in: SignIn) -> None:
    before = UnitPrice.objects.count()
    draft = sent(sign_in)
    assert UnitPrice.objects.count() == before
    url = f"/prices/drafts/{draft.pk}"
    assert f'href="{url}"' in html_of(sign_in("ana").get("/prices"))
    assert f'href="{url}"' in html_of(sign_in("fin").get("/prices"))
    assert "waiting for an administrator" not in html_of(sign_in("luis").get("/prices"))
    told = {
        name: f'href="{url}"' in sign_in(name).get("/inbox").content.decode()
        for name in CAST
    }
    assert told == {"ana": True, "fin": False, "luis": False, "mia": False}
    own = sign_in("fin").get(url)
    assert "Save 1 price" not in text_of(own)
    assert sign_in("fin").post(url, seen_by(sign_in("ana"), draft)).status_code == 403
    assert UnitPrice.objects.count() == before
    admin = sign_in("ana")
    assert "Save 1 price" in text_of(admin.get(url))
    saved = admin.post(url, seen_by(admin, draft))
    assert saved.headers["Location"] == "/prices"
    assert UnitPrice.objects.count() == before + 1
    assert "Saved by ana" in text_of(sign_in("fin").get(url))
    log = text_of(admin.get("/audit"))
    assert "repared price list" in log
    contexts = draft.events.order_by("pgh_id").values_list(  # type: ignore[attr-defined]
        "pgh_context__metadata__actor", "pgh_context__metadata__requested_by"
    )
    assert list(contexts) == [("fin", None), ("ana", "fin")]
    assert "waiting for an administrator" not in html_of(admin.get("/prices"))
    again = admin.post(url, {"seen": "x", "reason": REASON})
    assert "Saved by ana" in text_of(again)
    assert UnitPrice.objects.count() == before + 1


def test_a_prepared_list_is_discarded_by_its_author_or_an_administrator(
    sign_in: SignIn,
) -> None:
    draft = sent(sign_in)
    url = f"/prices/drafts/{draft.pk}"
    assert sign_in("luis").post(url, {"discard": "yes"}).status_code == 403
    assert sign_in("fin").post(url, {"discard": "yes"}).status_code == 302
    assert "Discarded by fin" in text_of(sign_in("ana").get(url))
    late = sign_in("ana").post(url, {"seen": "x", "reason": REASON})
    assert "Discarded by fin" in text_of(late)
    assert UnitPrice.objects.filter(source_note__startswith="=1+1").count() == 0


def test_a_prepared_list_is_saved_only_as_it_was_seen(sign_in: SignIn) -> None:
    draft = sent(sign_in)
    admin = sign_in("ana")
    seen = seen_by(admin, draft)
    upload_again = upload(admin, FILE.encode())
    admin.post("/prices/import", hidden(upload_again) | {"reason": REASON})
    refused = admin.post(f"/prices/drafts/{draft.pk}", seen)
    assert refused.status_code == 422
    assert "changed since this check" in text_of(refused)
    draft.refresh_from_db()
    assert draft.state == DraftState.OPEN


def test_a_list_without_a_price_to_save_is_not_sent(sign_in: SignIn) -> None:
    before = PriceDraft.objects.count()
    client = sign_in("fin")
    answer = upload(client, b"gpu,usd\nNVIDIA L40S,abc\n")
    assert "Send to an administrator" not in text_of(answer)
    fields = hidden(answer) | {"reason": REASON}
    refused = client.post("/prices/import", fields)
    assert refused.status_code == 422
    assert "No price of this file would be saved" in text_of(refused)
    assert PriceDraft.objects.count() == before
