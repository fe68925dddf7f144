"""Requests that nobody thought of, drawn from the published schema by schemathesis.

As an admin and as a viewer, through the product's WSGI application: values that the schema
allows and values that it forbids, each form that the schema offers in `Accept`, and NUL in one
of the texts. No answer is a 5xx, and each is one that the schema documents.

`SCHEMA_EXAMPLES` is how many requests each operation gets (`make soak SCHEMA_EXAMPLES=500`),
`SCHEMA_SEED` repeats a run; both are printed.
"""

import os
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.contrib.auth import get_user_model
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounting.months.tasks.running import book_running
from accounting.organization.actions.tokens import SCOPES, create_token
from portal.wsgi import application
from scheduler_view.changes.models import ChangeSet
from tests.integration.api.contract import schema
from tests.story import Story

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES") or 2)
SEED = int(os.environ.get("SCHEMA_SEED") or random.randrange(2**31))
API = schemathesis.openapi.from_dict(schema())
OPERATIONS: dict[str, Any] = {}
for found in API.get_all_operations():
    assert isinstance(found, Ok)
    operation = found.ok()
    OPERATIONS[f"{operation.method.upper()} {operation.path}"] = operation
FORMS = (  # JSON more often: a form that is not offered ends a request early
    *("application/json", "application/json", "application/json", "*/*", ""),
    *("text/csv", "text/csv", "application/problem+json"),
)
REAL: dict[str, list[Any]] = {  # of the story: what is drawn alone is hardly ever there
    "cluster": ["north"],
    "team": ["vision", "search", "unmapped"],
    "namespace": ["vision-prod", "scratch"],
    "model": ["NVIDIA-A10", "NVIDIA-L40S"],
    "gpu": ["GPU-5a1e0001-0000-7c3d"],
    "node": ["gpu-01"],
    "by": ["team", "gpu,node", "day", "pod", "team,model,lifecycle,tier", "workload"],
    "from": ["2026-11-03", "0001-01-01", "2026-11-20T13:00:00Z", "9998-12-31"],
    "to": ["2026-11-05", "9999-12-31", "2026-11-20T14:00:00Z", "1970-01-01"],
    "number": [1, 2, 2**31, 2**63, 10**30],
    "object": ["1", "9" * 17],
    "slug": ["vision", "audio"],
    "kind": ["namespace", "pod_label"],
    "valid_from": ["2026-11-20", "1970-01-01", "9998-12-31", "0001-01-01T00:00:00Z"],
    "rate_per_gpu_hour": ["0.75", "999999", "1e5", "-1", "0.0000001"],
    "reason": ["Agreed in the round of November."],
    "period": ["2026-10", "2026-11", "2026-13", "0001-01", "8999-12"],
    "revision": ["1", "2", "9" * 9],
    "department": ["Research", "nowhere"],
    "as": ["corrected", "booked", "measured"],
    "check": ["coverage", "order"],
    "day": ["2026-11-05", "2026-10-05", "0001-01-01", "8999-12-31"],
    "amount": ["-12.50", "1e30", "0", "-0.001"],
    "what": ["team", "unitprice", "changeset", "charges", "focus"],
    "starts_at": ["2026-11-21T00:00:00Z", "9998-12-31"],
    "ends_at": ["2026-11-22T00:00:00Z", "1970-01-01"],
}
EDIT: dict[str, list[Any]] = {
    "kind": ["quota", "tier", "none", 1],
    "team": ["vision", "nobody", "", None, 7],
    "resource": ["nvidia.com/gpu", "x", "", None, []],
    "gpus": [8, 0, -1, None, 2**31, 2**62, 1.5, "8", {}],
    "tier": ["", "gold", None, 1],
    "rule": ["evenly", "by_use", "weights", "none", 1],
    "weights": [{}, {"vision-prod": 1}, {"x": -1}, {"a": 2**62}, [], "x"],
    "version": [0, 1, -1, 2**40, None, "1"],
    "name": ["batch", "", "A B", None, "x" * 300],
    "value": [1000, -(2**31), 2**31, 2**62, None, "1"],
    "remove": [True, False, "x"],
}
QUOTA = ("kind", "team", "resource", "gpus", "tier", "rule", "weights", "version")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]


@pytest.fixture(scope="module", params=["ana", "mia"])
def token(request: pytest.FixtureRequest, story: Story) -> str:
    """Of an admin, and of a viewer; there is a change set and a month to look at."""
    owner = get_user_model().objects.get(username=request.param)
    _, secret = create_token(owner=owner, name="drawn", scopes=SCOPES)
    book_running("2026-10")
    edits = [{name: values[0] for name, values in EDIT.items() if name in QUOTA}]
    made = {"cluster": story.cluster, "author": owner, "edits": edits}
    ChangeSet.objects.get_or_create(pk=1, defaults=made | {"reason": "To look at."})
    return secret


@pytest.fixture(autouse=True)
def one_connection(db: None) -> Iterator[None]:
    """Requests share the connection of the test, as with Django's own client."""
    del db
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def real(case: Case[Any], draw: st.DrawFn | Any) -> None:
    """Some of what is drawn is there."""
    for part in (case.query, case.path_parameters, case.body):
        if not isinstance(part, dict):
            continue
        for name in [name for name in (*part, *REAL) if name in REAL]:
            if name in part and draw(st.booleans()):
                part[name] = draw(st.sampled_from(REAL[name]))
    if isinstance(case.body, dict) and "edits" in case.body and draw(st.booleans()):
        chosen = draw(st.lists(st.sampled_from(list(EDIT)), min_size=1, unique=True))
        edit = {
            "kind": "quota",
            "team": "vision",
            "resource": "nvidia.com/gpu",
            "gpus": 8,
        }
        drawn = {name: draw(st.sampled_from(EDIT[name])) for name in chosen}
        case.body["edits"] = [edit | drawn]


def poisoned(case: Case[Any], draw: st.DrawFn | Any) -> None:
    """NUL in one text of the address or of the body."""
    texts: list[tuple[Any, Any]] = []
    for part in (case.query, case.path_parameters, case.body):
        if isinstance(part, dict):
            texts += [(part, k) for k, v in part.items() if isinstance(v, str)]
    if not texts:
        return
    part, name = draw(st.sampled_from(texts))
    part[name] += draw(st.sampled_from(["\0", "a\0b", "\0\0"]))


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_is_one_that_the_schema_documents(
    token: str, name: str, mode: GenerationMode
) -> None:
    sys.stdout.write(f"SCHEMA_SEED={SEED} SCHEMA_EXAMPLES={EXAMPLES}\n")
    strategy = OPERATIONS[name].as_strategy(generation_mode=mode)

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy, st.sampled_from(FORMS), st.integers(0, 3).map(bool), st.data())
    def ask(case: Case[Any], form: str, is_clean: bool, data: st.DataObject) -> None:
        real(case, data.draw)
        if not is_clean:
            poisoned(case, data.draw)
        headers = {"Authorization": f"Bearer {token}", "Accept": form}
        with transaction.atomic():
            answer = case.call(app=application, headers=headers)
            transaction.set_rollback(True)
        case.validate_response(answer, checks=CHECKS)

    ask()
