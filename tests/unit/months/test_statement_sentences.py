"""A statement explains its method, whichever it is (money.md M22, M23)."""

from accounting.months.reads.method_text import method_sentences
from accounting.months.rules.methods import METHODS


def test_every_method_has_its_five_sentences() -> None:
    texts = [method_sentences(method.id) for method in METHODS]
    assert {len(found) for found in texts} == {5}
    assert len(set(texts)) == len(METHODS)
