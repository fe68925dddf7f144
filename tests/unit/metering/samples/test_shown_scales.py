"""What a scraper ever showed: a union of samples, whatever is read first (N8)."""

from itertools import permutations

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.samples.series import Series
from accounting.metering.rules.samples.shown_scales import NOTHING, ShownScale
from tests.unit.metering.fleet import ms
from tests.unit.metering.utilization_series import series

EVER = Interval(0, 2**60)
Values = dict[float, float]
PERCENT: Values = {
    0: 0.005,
    30: 0.0097,
    60: 0.002,
    90: 0.003,
    120: 0.01,
    150: 0.5,
    180: 0.125,
}


def of(samples: Values, uuid: str = "G") -> Series:
    return series("gpu_util", samples, uuid=uuid)


def test_parts_in_any_order_give_the_same() -> None:
    """The first three fractions are kept, whichever part they were in."""
    parts = [of({at: value}) for at, value in PERCENT.items()]
    whole = NOTHING.joined([of(PERCENT)], EVER)
    first = ((ms(0), "G"), (ms(30), "G"), (ms(60), "G"))
    assert whole == ShownScale(first, is_above=True, is_averaged=True, has_ones=True)
    for order in list(permutations(parts))[::97]:
        found = NOTHING
        for part in [*order, order[0]]:  # one of them twice
            found = found.joined([part], EVER)
        assert found == whole


def test_ratios_need_three_fractions_and_nothing_above_one() -> None:
    """Copies of one sample are one; another GPU at the same time is not."""
    twice = [of({0: 0.005, 30: 0.005}), of({0: 0.005, 30: 0.005})]
    two = NOTHING.joined(twice, EVER)
    assert (len(two.fractions), two.is_ratio) == (2, False)
    three = two.joined([of({0: 0.0025}, uuid="H")], EVER)
    assert three.is_ratio
    assert not three.joined([of({300: 0.02})], EVER).is_ratio


def test_only_data_of_the_period_show_a_scale() -> None:
    """250, NaN, infinity and negative values are no data; the end does not belong to it."""
    odd: Values = {0: 2.5, 30: np.nan, 60: np.inf, 90: -0.005, 120: 0.0}
    assert NOTHING.joined([of(odd)], EVER) == NOTHING
    period = Interval(ms(30), ms(60))
    found = NOTHING.joined([of({0: 0.5, 30: 0.005, 60: 0.125})], period)
    assert found == ShownScale(((ms(30), "G"),))


def test_of_two_samples_at_one_time_the_smaller_one_shows() -> None:
    """N2: a number before no data, then the smaller one."""
    values = np.array([0.5, 0.005, 2.5, 0.0025, -1.0, 0.0075])
    times = np.array([ms(0), ms(0), ms(30), ms(30), ms(60), ms(60)])
    [one] = [of({0: 0.0})]
    told = Series(one.metric, one.name, one.scraper, times, values, gpu=one.gpu)
    found = NOTHING.joined([told], EVER)
    assert found == ShownScale(tuple((ms(at), "G") for at in (0, 30, 60)))
