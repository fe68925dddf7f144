"""Pages that derive from a declaration (`accounting/kit/pages/declared.py`): a list and its form.

Those of conversion rates are nothing else.
"""

import re
from decimal import Decimal

from django.test import Client

from accounting.prices.models.conversion import ConversionRate
from tests.integration.conftest import SignIn
from tests.page_html import html_of

GIVEN = {
    "from_currency": "USD",
    "to_currency": "EUR",
    "on": "2026-11-01",
    "rate": "0.91",
    "reason": "Rates of the central bank.",
}


def text_of(client: Client, path: str) -> str:
    """A page without tags, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html_of(client.get(path))).split())


def test_everybody_reads_the_list_and_finance_adds_to_it(sign_in: SignIn) -> None:
    reader, finance = sign_in("mia"), sign_in("fin")
    assert "None yet" in text_of(reader, "/conversion-rates")
    assert "Set a conversion rate" not in text_of(reader, "/conversion-rates")
    assert reader.get("/conversion-rates/new").status_code == 403
    assert 'href="/conversion-rates/new"' in html_of(finance.get("/conversion-rates"))
    saved = finance.post("/conversion-rates/new", GIVEN, follow=True)
    assert saved.redirect_chain == [("/conversion-rates", 302)]
    assert "The rate is saved." in saved.content.decode()
    assert ConversionRate.objects.get().rate == Decimal("0.91")
    text = text_of(reader, "/conversion-rates")
    assert "From To First day Rate USD EUR 1 Nov 2026 0.91" in text
    csv = reader.get("/api/v1/conversion-rates?format=csv").content.decode()
    assert csv.splitlines()[1].endswith("USD,EUR,2026-11-01,0.91")


def test_a_refusal_is_beside_its_field(sign_in: SignIn) -> None:
    finance = sign_in("fin")
    refused = finance.post("/conversion-rates/new", GIVEN | {"rate": "0"})
    assert refused.status_code == 422
    assert "The rate 0 must be above 0" in html_of(refused)
    missing = finance.post("/conversion-rates/new", {})
    assert missing.context["form"].errors.keys() == GIVEN.keys()
    assert not ConversionRate.objects.exists()
