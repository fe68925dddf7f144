"""A statement explains its method, whichever it is (money.md M22, M23)."""

from accounting.domain.billing.methods import METHODS
from accounting.queries.finance.months.method_text import method_sentences


def test_every_method_has_its_five_sentences() -> None:
    texts = [method_sentences(method.id) for method in METHODS]
    assert {len(found) for found in texts} == {5}
    assert len(set(texts)) == len(METHODS)
