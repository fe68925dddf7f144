"""How a person edits values of queues: the page, REST and a change file, to the cluster and back.

Reads and writes go to a real API server; the schedulers do not run.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from scheduler_view.changes.models import ChangeSet
from scheduler_view.quotas.models import QueueTarget
from tests.control_plane.admin import GPU
from tests.integration.changes.agreement import rest, somebody
from tests.integration.clusters.schedulers.queues import (
    BORROWING,
    NOMINAL,
    QueueOffice,
    edit,
    groups,
    nominal,
)
from tests.integration.metering.support import report
from tests.page_html import html_of

pytestmark = pytest.mark.control_plane
KIND = "ClusterQueue"


def page(client: Client, queues: QueueOffice) -> str:
    answer = client.get(f"/quotas?cluster={queues.office.cluster.name}")
    assert answer.status_code == 200
    return html_of(answer)


def rows(html: str) -> list[str]:
    """The rows of values of queues."""
    return [row.split("</tr>")[0] for row in html.split("<tr data-queue")[1:]]


def field_name(html: str, field: str) -> str:
    """The name of the input of a field."""
    found = re.search(rf'name="(n\|[^"]*\|{re.escape(field)}\|[^"]*)"', html)
    assert found is not None
    return found[1]


def proposed(client: Client, queues: QueueOffice, **fields: str) -> ChangeSet:
    """Sent by the form of the page, and planned by the worker."""
    office = queues.office
    body = {"cluster": office.cluster.name, "reason": "Agreed with the lead."} | fields
    answer = client.post("/quotas/change", body)
    assert answer.status_code == 302, html_of(answer)
    office.work()
    return ChangeSet.objects.get(pk=int(answer["Location"].rpartition("/")[2]))


def test_an_admin_edits_a_number_on_the_page_and_sees_it_arrive(
    queues: QueueOffice,
) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    used = [{"name": GPU, "total": "3", "borrowed": "0"}]
    reserved = [{"name": "a100", "resources": used}]
    queues.write_status(KIND, name, {"flavorsReservation": reserved})
    queues.look()
    with somebody() as client:
        html = page(client, queues)
        assert len(rows(html)) == 2  # GPUs of two flavors, no processors
        assert "Not managed" in rows(html)[0]
        made = proposed(client, queues, **{field_name(html, NOMINAL): "12"})
        shown = html_of(client.get(f"/changes/{made.pk}"))
        assert f"ClusterQueue {name}" in shown
        assert "changes from 4 to 12. In use now: 3." in shown
        assert "Take over from other managers" not in shown
        office.apply(office.approve(made))
        html = page(client, queues)
        assert 'value="12"' in rows(html)[0]
        assert "In sync" in rows(html)[0]
        assert f"CS-{made.pk}" in rows(html)[0]

        spec = {"spec": {"resourceGroups": groups("9")}}
        queues.admin.edit(queues.path(KIND, name), spec)
        queues.look()
        row = rows(page(client, queues))[0]
        assert "Differs in cluster" in row
        assert "is 9, wanted 12" in row
        assert "Changed by kubectl-edit" in row
        place = {"cluster": office.cluster.name, "kind": KIND, "queue": name}
        answer = client.post("/quotas/settle-queue", place | {"verb": "adopt"})
        office.work()
        adopted = ChangeSet.objects.get(pk=int(answer["Location"].split("/")[-1]))
        assert adopted.steps.get().action == "keep"
        office.apply(office.approve(adopted))
        assert QueueTarget.objects.get().value == "9"
        queues.admin.edit(
            queues.path(KIND, name), {"spec": {"resourceGroups": groups("1")}}
        )
        queues.look()
        answer = client.post("/quotas/settle-queue", place | {"verb": "restore"})
        office.work()
        restored = ChangeSet.objects.get(pk=int(answer["Location"].split("/")[-1]))
        assert "set to 1 by kubectl-edit" in restored.steps.get().blocked
        body = {"version": restored.version, "force": f"{KIND} {name}"}
        client.post(f"/changes/{restored.pk}/force", body)
        office.work()
        restored.refresh_from_db()
        office.apply(office.approve(restored))
        assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups("9")
        assert client.post("/quotas/settle-queue", place).status_code == 404


def test_a_wrong_number_keeps_what_was_typed(queues: QueueOffice) -> None:
    name = queues.make_cluster_queue()
    queues.look()
    with somebody() as client:
        field = field_name(page(client, queues), NOMINAL)
        body = {"cluster": queues.office.cluster.name, "reason": "Agreed with her."}
        answer = client.post("/quotas/change", body | {field: "-3"})
        assert answer.status_code == 422
        html = html_of(answer)
        assert f"ClusterQueue {name}, {NOMINAL}: -3 is negative" in html
        assert 'value="-3"' in html


def test_a_text_of_several_lines_is_shown_and_not_edited(queues: QueueOffice) -> None:
    """An input would join its lines, and the next edit would send them."""
    name = queues.name("class")
    text = "For nights.\nAsk first."
    queues.make("WorkloadPriorityClass", name, value=7, description=text)
    queues.look()
    with somebody() as client:
        (row,) = rows(page(client, queues))
    assert "|value|0|7" in row
    assert "|description|" not in row
    assert "Ask first." in row


def test_an_empty_input_removes_a_limit(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    office.applied(edit(KIND, name, BORROWING, 5))
    with somebody() as client:
        field = field_name(page(client, queues), BORROWING)
        made = proposed(client, queues, **{field: ""})
    office.apply(office.approve(made))
    assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups(4)
    assert QueueTarget.objects.get().value is None


def test_two_people_on_one_page_do_not_overwrite_each_other(
    queues: QueueOffice,
) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    queues.look()
    with somebody() as client:
        field = field_name(page(client, queues), NOMINAL)
        office.applied(nominal(name, 6))
        body = {"cluster": office.cluster.name, "reason": "Agreed with the lead."}
        answer = client.post("/quotas/change", body | {field: "7"})
        assert answer.status_code == 422
        assert "was changed by CS-" in html_of(answer)


def sent(client: Client, queues: QueueOffice, *edits: dict[str, Any]) -> Any:
    body = {"cluster": queues.office.cluster.name, "reason": "Agreed with the lead."}
    return client.post(
        "/api/v1/change-sets",
        body | {"edits": list(edits)},
        content_type="application/json",
        headers={"Idempotency-Key": "a-key-of-this-test"},
    )


def test_rest_edits_fields_and_names_faults(queues: QueueOffice) -> None:
    name = queues.make_cluster_queue()
    with somebody() as client:
        answer = sent(client, queues, nominal(name, 12, version=0))
        assert answer.status_code == 201, answer.content
        assert answer.json()["title"] == f"ClusterQueue {name}, {NOMINAL}: 12"
        (stored,) = answer.json()["edits"]
        assert stored == nominal(name, "12", version=0, release=False)
        for wrong, text in (
            ({"object": "Workload"}, "must be one of ClusterQueue"),
            ({"field": "nominalQuota"}, "must be FLAVOR/RESOURCE/LIMIT"),
            ({"value": 2 * 10**18}, "is not between"),
            ({"value": [1]}, "must be a number or a text"),
            ({"value": True}, "must be a number or a text"),
            ({"gpus": 4}, "unknown; use one of: kind, object"),
        ):
            answer = sent(client, queues, nominal(name, 12) | wrong)
            assert answer.status_code in (400, 422)
            assert text in answer.content.decode()


def test_rest_and_the_report_list_the_same_values(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    made = office.applied(nominal(name, 12))
    with somebody() as client:
        found = rest(client, "queue-values", office.cluster.name)
    assert report("queue-values", cluster=office.cluster.name) == found
    row = {row["field"]: row for row in found}[NOMINAL]
    assert row == {
        "cluster": office.cluster.name,
        "scheduler": "kueue",
        "object": KIND,
        "name": name,
        "field": NOMINAL,
        "value": "12",
        "live": "12",
        "used": None,
        "is_managed": True,
        "version": made.pk,
        "sync": "in_sync",
    }
    others = {row["sync"] for row in found if row["field"] != NOMINAL}
    assert others == {"not_managed"}


FILE = """\
cluster: {cluster}
reason: Half of it is idle since the re-index ended.
queues:
  - {{object: ClusterQueue, name: {name}, field: {field}, value: 12}}
"""


def test_a_change_file_is_planned_applied_and_undone(
    queues: QueueOffice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, cluster = queues.make_cluster_queue(), queues.office.cluster.name
    path = tmp_path / "change.yaml"
    path.write_text(FILE.format(cluster=cluster, name=name, field=NOMINAL))
    with pytest.raises(SystemExit):
        call_command("change_set", "plan", str(path))
    assert "changes from 4 to 12" in capsys.readouterr().out
    call_command("change_set", "apply", str(path))
    assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups("12")
    call_command("change_set", "plan", str(path))
    assert "1 object unchanged" in capsys.readouterr().out
    call_command("change_set", "undo", str(path))
    assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups(4)
    assert not QueueTarget.objects.exists()


def test_a_loan_of_a_queues_quota_ends_by_itself(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    ends_at = office.now() + queues.hours(2)
    office.applied(nominal(name, 12), ends_at=ends_at)
    office.ahead = queues.hours(3)
    office.work()
    office.work()
    assert queues.live(KIND, name)["spec"]["resourceGroups"] == groups(4)


def test_a_big_change_needs_a_second_person(queues: QueueOffice) -> None:
    name, office = queues.make_cluster_queue(), queues.office
    office.cluster.kubernetes |= {"second_approver_above": 5}
    office.cluster.save()
    assert not office.planned(nominal(name, 9)).needs_second
    assert office.planned(nominal(name, 10)).needs_second
    assert office.planned(edit(KIND, name, BORROWING, None)).needs_second is False
