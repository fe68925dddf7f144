"""Methods and their ids (money.md M22, M23)."""

import pytest

from accounting.months.rules.methods import (
    DEFAULT_METHOD,
    METHODS,
    Base,
    Method,
    MethodError,
    Spread,
)


def test_a_method_is_known_by_its_id() -> None:
    assert Method.parse("alloc-v1") == DEFAULT_METHOD
    assert Method.parse("busy-v1+even") == Method(Base.BUSY, Spread.EVEN)
    assert [Method.parse(one.id) for one in METHODS] == list(METHODS)


@pytest.mark.parametrize("text", ["", "alloc", "alloc-v1+", "+even", "busy-v1+x"])
def test_another_text_is_refused_with_the_methods_that_exist(text: str) -> None:
    with pytest.raises(MethodError, match=r"is not a method. Methods: alloc-v1, "):
        Method.parse(text)


@pytest.mark.parametrize("method", METHODS)
def test_the_holder_pays_unknown_time_by_every_method(method: Method) -> None:
    assert "unknown" in method.paid_states
    assert ("idle" in method.paid_states) == (method.base is Base.ALLOCATION)
