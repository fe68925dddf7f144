"""P4, P5: a Prometheus response into arrays, against prometheus-api-client and a DataFrame."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.sources.answers import CollectedSamples, checked
from bench.measure import Figure, interleaved, peak_rss, ratio

SERIES, POINTS, STEP_S = 2000, 288, 30
START_S = 1_790_812_800


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named)."""
    if not wanted or "P4" in wanted:
        yield _speed()
    if not wanted or "P5" in wanted:
        yield _memory()


def answer(series: int = SERIES) -> bytes:
    """A server's response to a range selector over exporter series."""
    random = np.random.default_rng(7)
    parts = []
    for i in range(series):
        labels = (
            f'"__name__":"DCGM_FI_PROF_GR_ENGINE_ACTIVE","UUID":"GPU-{i:08d}",'
            f'"Hostname":"node-{i // 8}","gpu":"{i % 8}","job":"dcgm","instance":"n{i // 8}",'
            f'"modelName":"NVIDIA A100-SXM4-80GB","namespace":"ns{i % 200}","pod":"p{i}"'
        )
        values = random.random(POINTS).round(4).tolist()
        samples = ",".join(
            f'[{START_S + k * STEP_S},"{value}"]' for k, value in enumerate(values)
        )
        parts.append(f'{{"metric":{{{labels}}},"values":[{samples}]}}')
    body = ",".join(parts)
    return f'{{"status":"success","data":{{"resultType":"matrix","result":[{body}]}}}}'.encode()


def ours(body: bytes) -> float:
    """Decode into arrays as the source does; returns the sum of all values."""
    period = Interval(START_S * 1000, (START_S + POINTS * STEP_S) * 1000)
    collected = CollectedSamples()
    collected.add(checked(body, "bench", "matrix"), period)
    return float(collected.batch(period).values.sum())


def rival(body: bytes) -> float:
    """Decode as prometheus-api-client does, into its DataFrame."""
    import json

    from prometheus_api_client import MetricRangeDataFrame

    frame = MetricRangeDataFrame(json.loads(body)["data"]["result"])
    return float(frame["value"].astype(float).sum())


def _speed() -> Figure:
    body = answer()
    assert abs(ours(body) - rival(body)) < 1e-6
    seconds = interleaved({"rival": lambda: rival(body), "ours": lambda: ours(body)})
    rate = SERIES * POINTS / min(seconds["ours"])
    return Figure(
        "P4",
        "decode to arrays / prometheus-api-client DataFrame",
        ratio(seconds["rival"], seconds["ours"]),
        6,
        detail={"points/s": rate},
    )


def _memory() -> Figure:
    """Peak memory per point, each in a new process."""
    peaks = {name: _peak(name) - _peak("nothing") for name in ("ours", "rival")}
    points = SERIES * POINTS
    return Figure(
        "P5",
        "peak memory a point, of the rival's",
        peaks["ours"] / peaks["rival"],
        0.25,
        at_most=True,
        detail={"bytes": peaks["ours"] / points, "rival": peaks["rival"] / points},
    )


def _peak(what: str) -> int:
    """Peak bytes of a process that decodes one response (or only creates it)."""
    words = [sys.executable, "-m", "bench.decode", what]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return int(done.stdout)


if __name__ == "__main__":
    import pandas as pd  # noqa: F401  # loaded in every process, so that it does not count
    import prometheus_api_client.metric_range_df  # noqa: F401  # the same

    made = answer()
    if sys.argv[1] == "ours":
        ours(made)
    elif sys.argv[1] == "rival":
        rival(made)
    print(peak_rss())
