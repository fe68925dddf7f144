"""A Prometheus that has the fleet of `bench.fleet` at any time, and needs next to no time itself.

It answers the product's queries only: samples until `now`, never of the future. Values are one of
a few rows, so that an answer of nine million samples is put together in a second or two.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing import get_context
from typing import Any
from urllib.parse import parse_qs

from bench.fleet import GPUS_A_NODE, SHOWN_FOR_S, START_S, Fleet, Job

METRIC = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
STEP_S, KUBE_STEP_S = 30, 60
ROWS = 16  # of values; those of every third are 0
OWN = {"job": "kube-state-metrics", "instance": "ksm:8080"}
EMPTY = b'{"status":"success","data":{"resultType":"vector","result":[]}}'


@contextmanager
def live(fleet: Fleet) -> Iterator[tuple[str, Any]]:
    """Its address, and its present: `value` is in seconds since 1970."""
    context = get_context("fork")
    now = context.Value("d", float(START_S))
    server = HTTPServer(("127.0.0.1", 0), _handler(fleet, now))
    process = context.Process(target=server.serve_forever, daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", now
    finally:
        process.terminate()
        process.join()
        server.server_close()


def _handler(fleet: Fleet, now: Any) -> type[BaseHTTPRequestHandler]:
    jobs = fleet.jobs()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # its name in the library
            size = int(self.headers["Content-Length"])
            asked = parse_qs(self.rfile.read(size).decode())
            query, at = asked["query"][0], float(asked["time"][0])
            found = re.search(r"\[(\d+)ms\]", query)
            assert found is not None
            first = at + 0.001 - int(found[1]) / 1000
            last = min(at, now.value)
            body = EMPTY
            if not query.startswith("group"):
                series: Iterator[str] = iter(())
                if METRIC in query:
                    series = _of_gpus(fleet.gpus, jobs, first, last)
                elif "kube_pod_info" in query:
                    series = _of_kube(fleet.gpus, jobs, first, last)
                body = (
                    '{"status":"success","data":{"resultType":"matrix","result":['
                    + ",".join(series)
                    + "]}}"
                ).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002
            del format, words

    return Handler


def _of_gpus(gpus: int, jobs: list[Job], first: float, last: float) -> Iterator[str]:
    held = defaultdict(list)
    for job in jobs:
        if job.start_s <= last and job.end_s > first:
            for n in range(job.first, job.first + job.units):
                held[job.node * GPUS_A_NODE + n].append(job)
    for gpu in range(gpus):
        at = first
        for job in held[gpu]:
            yield from _gpu(gpu, None, at, min(job.start_s - 0.001, last))
            yield from _gpu(
                gpu, job, max(at, job.start_s), min(job.end_s - 0.001, last)
            )
            at = job.end_s
        yield from _gpu(gpu, None, at, last)


def _gpu(gpu: int, job: Job | None, first: float, last: float) -> Iterator[str]:
    values = _values(gpu % ROWS, STEP_S, first, last)
    if not values:
        return
    node = f"node-{gpu // GPUS_A_NODE}"
    labels = {
        "__name__": METRIC,
        "gpu": str(gpu % GPUS_A_NODE),
        "UUID": f"GPU-{gpu:08d}",
        "Hostname": node,
        "instance": f"{node}:9400",
        "job": "dcgm",
        "modelName": "NVIDIA A100-SXM4-80GB",
    }
    if job is not None:
        labels |= {
            "exported_namespace": job.namespace,
            "exported_pod": job.name,
            "exported_container": "main",
        }
    yield _series(labels, values)


def _of_kube(gpus: int, jobs: list[Job], first: float, last: float) -> Iterator[str]:
    for node in range(gpus // GPUS_A_NODE):
        labels = {
            "node": f"node-{node}",
            "resource": "nvidia_com_gpu",
            "unit": "integer",
        }
        yield from _kube("node_status_capacity", labels, GPUS_A_NODE, first, last)
    for job in jobs:
        begin, end = max(first, job.start_s), min(last, job.end_s + SHOWN_FOR_S - 1)
        if begin > end:
            continue
        key = {"namespace": job.namespace, "pod": job.name, "uid": f"uid-{job.number}"}
        on = {"node": f"node-{job.node}"}
        what = {"container": "main", "resource": "nvidia_com_gpu", "unit": "integer"}
        yield from _kube("pod_info", key | on, 1, begin, end)
        requests = key | on | what
        yield from _kube(
            "pod_container_resource_requests", requests, job.units, begin, end
        )
        yield from _kube("pod_status_scheduled_time", key, job.start_s, begin, end)
        over = max(begin, job.end_s)
        yield from _kube("pod_status_phase", key | {"phase": "Succeeded"}, 1, over, end)
        yield from _kube("pod_completion_time", key, job.end_s, over, end)


def _kube(
    name: str, labels: dict[str, str], value: int, first: float, last: float
) -> Iterator[str]:
    if values := _values(value, KUBE_STEP_S, first, last, is_row=False):
        yield _series({"__name__": f"kube_{name}", **labels, **OWN}, values)


def _series(labels: dict[str, str], values: str) -> str:
    return f'{{"metric":{json.dumps(labels)},"values":[{values}]}}'


def _values(
    what: int, step: int, first: float, last: float, *, is_row: bool = True
) -> str:
    """Samples of a row of values, or of one value, on the grid of `step` in [first, last]."""
    return _listed(what, step, -int(-first // step), int(last // step), is_row)


@cache
def _listed(what: int, step: int, first: int, last: int, is_row: bool) -> str:  # noqa: FBT001
    def value(n: int) -> str:
        if not is_row:
            return str(what)
        return "0" if what % 3 == 0 else f"0.{(n * 7919 + what * 331) % 10_000:04d}"

    return ",".join(f'[{n * step},"{value(n)}"]' for n in range(first, last + 1))
