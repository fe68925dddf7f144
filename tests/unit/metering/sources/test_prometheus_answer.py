"""An answer of Prometheus as samples: what its numbers and labels may look like."""

import json

import pytest

from accounting.core.interval import Interval
from accounting.metering.sources.answers import CollectedSamples, checked
from accounting.metering.sources.errors import InvalidSourceResponse
from accounting.metering.sources.samples import SampleBatch, build_reading

HOUR = Interval(0, 3_600_000)
UTILIZATION = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "UUID": "GPU-1", "Hostname": "n1"}
Vector = tuple[dict[str, object], list[list[object]]]


def samples_of(*vectors: Vector) -> SampleBatch:
    """What the door makes of an answer with these series."""
    result = [{"metric": metric, "values": values} for metric, values in vectors]
    data = {"resultType": "matrix", "result": result}
    body = json.dumps({"status": "success", "data": data}).encode()
    collected = CollectedSamples()
    collected.add(checked(body, "http://there", "matrix"), HOUR)
    return collected.batch(HOUR)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.1", 0.1),
        ("85", 85.0),
        ("-3", -3.0),
        ("1e-05", 1e-05),
        ("9223372036854775794", 9223372036854775794.0),
        ("NaN", float("nan")),
        ("+Inf", float("inf")),
        ("-Inf", float("-inf")),
    ],
)
def test_values_are_those_of_python(written: str, meant: float) -> None:
    found = samples_of(
        ({**UTILIZATION, "le": "+Inf"}, [[30, written], [60.001, "1"]]),
    )
    assert found.values.tolist() == pytest.approx([meant, 1.0], abs=0, nan_ok=True)
    assert found.times.tolist() == [30_000, 60_001]
    assert dict(found.series[0].labels)["le"] == "+Inf"


@pytest.mark.parametrize("written", ["", "much", "0x10", "1,5"])
def test_value_that_is_no_number_is_named(written: str) -> None:
    with pytest.raises(ValueError, match=f"'{written}'"):
        samples_of((dict(UTILIZATION), [[30, "+Inf"], [60, written]]))


@pytest.mark.parametrize("written", [None, True, ["1"]])
def test_value_of_another_kind_is_a_wrong_answer(written: object) -> None:
    with pytest.raises(InvalidSourceResponse, match="http://there"):
        samples_of((dict(UTILIZATION), [[30, written]]))


@pytest.mark.parametrize("label", [7, None, ["a"]])
def test_label_that_is_no_text_is_a_wrong_answer(label: object) -> None:
    with pytest.raises(InvalidSourceResponse, match="labels"):
        samples_of(({**UTILIZATION, "gpu": label}, [[30, "1"]]))


def test_labels_in_another_order_are_the_same_series() -> None:
    turned: dict[str, object] = dict(reversed(UTILIZATION.items()))
    found = samples_of((dict(UTILIZATION), [[30, "1"]]), (turned, [[60, "2"]]))
    assert len(found.series) == 1
    assert found.ids.tolist() == [0, 0]


def test_samples_out_of_order_are_brought_into_it() -> None:
    other: dict[str, object] = {**UTILIZATION, "UUID": "GPU-2"}
    found = samples_of(
        (dict(UTILIZATION), [[60, "2"], [30, "1"]]),
        (other, [[30, "3"]]),
        (dict(UTILIZATION), [[45, "4"]]),
    )
    reading = build_reading(found, scales={})
    assert [s.times_ms.tolist() for s in reading.series] == [
        [30_000, 45_000, 60_000],
        [30_000],
    ]
    assert reading.series[0].values.tolist() == [0.01, 0.04, 0.02]
