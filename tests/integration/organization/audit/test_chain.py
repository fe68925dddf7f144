"""The record of changes: one row each, append-only, sealed by a chain (I17).

Each test commits: links are made when a transaction ends.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.db import connection, connections, transaction
from django.db.utils import ProgrammingError
from pghistory.models import Context

from accounting.access.models.people import Membership, Person
from accounting.access.models.teams import Binding, Team
from accounting.kit.audit import SYSTEM, act
from accounting.kit.models.audit import AuditLink
from accounting.months.actions import periods
from accounting.months.tasks.close import close_period
from accounting.organization.actions.teams import save_team
from accounting.organization.reads.audit_entries import (
    AuditFilter,
    Head,
    audit_rows,
    head,
)
from accounting.organization.reads.chain_checks import audit_checks, history_tables
from accounting.prices.actions.prices import set_unit_price
from tests.database_flush import delete_rows
from tests.integration.metering.support import run
from tests.integration.months.people import person

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clean(transactional_db: None) -> None:
    """The chain of this test only."""
    del transactional_db
    delete_rows([*history_tables(), "accounting_auditlink"])


def broken() -> list[str]:
    """What the invariants of the record find."""
    found = []
    with connection.cursor() as cursor:
        for query in chain.from_iterable(check.queries for check in audit_checks()):
            cursor.execute(query, {})
            found += [str(row[0]) for row in cursor.fetchall()]
    return found


def save(name: str = "Vision") -> None:
    save_team(slug="vision", name=name, department="", cost_centre="", actor="ana")


def test_each_change_is_one_row_with_who_and_why() -> None:
    save()
    save("Vision two")
    save("Vision two")  # nothing changes
    team = Team.objects.get()
    team_id = team.pk
    with act("luis", "left the house"):
        team.delete()
    rows = list(audit_rows(AuditFilter(what="team")))
    assert [(row.actor, row.action, row.object_id) for row in rows] == [
        ("luis", "delete", team_id),
        ("ana", "update", team_id),
        ("ana", "insert", team_id),
    ]
    assert rows[0].reason == "left the house"
    assert (rows[1].before, rows[1].after) == (
        {"name": "Vision"},
        {"name": "Vision two"},
    )
    assert rows[0].before["name"] == "Vision two"
    assert list(audit_rows(AuditFilter(what="team", actor="luis"))) == rows[:1]
    assert list(audit_rows(AuditFilter(end=LONG_AGO))) == []
    assert broken() == []
    assert head().links == 3


def test_a_change_that_is_rolled_back_leaves_nothing() -> None:
    with transaction.atomic():
        save()
        transaction.set_rollback(True)
    assert list(audit_rows(AuditFilter())) == []


@pytest.mark.parametrize("table", ["accounting_teamevent", "accounting_auditlink"])
@pytest.mark.parametrize("verb", ["UPDATE {} SET {}", "DELETE FROM {}"])
def test_the_record_can_be_neither_changed_nor_removed(table: str, verb: str) -> None:
    save()
    column = "name = 'x'" if table.endswith("event") else "source = 'x'"
    with (
        pytest.raises(ProgrammingError, match="Cannot update or delete"),
        connection.cursor() as cursor,
    ):
        cursor.execute(verb.format(table, column))
    assert broken() == []


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE accounting_teamevent SET name = 'Forged'",
        "DELETE FROM accounting_teamevent WHERE pgh_label = 'update'",
        "UPDATE accounting_auditlink SET body = jsonb_set(body, '{context,actor}', '\"x\"')",
        (
            "DELETE FROM accounting_auditlink l WHERE NOT EXISTS "
            "(SELECT FROM accounting_auditlink e WHERE e.id < l.id)"
        ),
        "INSERT INTO accounting_teamevent SELECT * FROM accounting_teamevent LIMIT 0",
    ],
)
def test_whoever_gets_around_the_triggers_is_found(forgery: str) -> None:
    save()
    save("Vision two")
    save("Vision three")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # no triggers
        cursor.execute(forgery)
        forged = cursor.rowcount
    assert bool(broken()) is bool(forged)


def forge(statement: str, values: Sequence[int | str] = ()) -> None:
    """As the owner of the tables can: with all triggers off."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, values)


def test_a_row_that_was_changed_behind_its_history_is_found() -> None:
    """What is in force is compared with the newest change that was sealed."""
    price = set_unit_price(
        model="NVIDIA A100",
        rate_per_gpu_hour=Decimal("2.10"),
        cost_per_gpu_hour=None,
        currency="EUR",
        valid_from=LONG_AGO,
        actor="ana",
        reason="list",
    )
    person = Person.objects.create(user=get_user_model().objects.create(username="eve"))
    save()
    assert broken() == []
    forge("UPDATE accounting_unitprice SET rate_per_gpu_hour = 2 * rate_per_gpu_hour")
    assert broken() == [f"accounting_unitprice {price.pk}"]
    forge("UPDATE accounting_unitprice SET rate_per_gpu_hour = rate_per_gpu_hour / 2")
    assert broken() == []
    forge("UPDATE accounting_person SET role = 'admin'")
    assert broken() == [f"accounting_person {person.pk}"]


def test_a_binding_that_was_added_or_removed_behind_its_history_is_found() -> None:
    save()
    team = Team.objects.get().pk
    binding = (
        "INSERT INTO accounting_binding (kind, glob, label, position, team_id, valid_from)"
        " VALUES ('namespace', %s, '', 0, %s, now())"
    )
    forge(binding, ["stolen-*", team])
    row = Binding.objects.get()
    assert broken() == [f"accounting_binding {row.pk}"]
    forge("DELETE FROM accounting_binding")
    assert broken() == []
    forge("DELETE FROM accounting_team")
    assert broken() == [f"accounting_team {team}"]


def test_a_row_that_came_back_after_its_deletion_is_found() -> None:
    save()
    team = Team.objects.get()
    with act("luis", "left the house"):
        Team.objects.get().delete()
    assert broken() == []
    forge(
        "INSERT INTO accounting_team (id, slug, name, department, cost_centre, colour_slot)"
        " VALUES (%s, 'vision', 'Vision', '', '', 0)",
        [team.pk],
    )
    assert broken() == [f"accounting_team {team.pk}"]


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE accounting_auditlink SET at = at - interval '1 year'",
        "UPDATE accounting_auditlink SET object_id = object_id + 1",
        "UPDATE accounting_auditlink SET object_id = NULL",
        "UPDATE accounting_auditlink SET event_id = event_id + 100",
    ],
)
def test_a_link_that_was_filed_elsewhere_is_found(forgery: str) -> None:
    """Pages filter by these columns, and the hash does not cover them."""
    save()
    link = AuditLink.objects.get().pk
    forge(forgery)
    assert f"link {link}" in broken()


def test_a_row_of_history_without_a_link_is_found() -> None:
    save()
    forge(
        "INSERT INTO accounting_teamevent (pgh_created_at, pgh_label, pgh_obj_id,"
        " id, slug, name, department, cost_centre, colour_slot)"
        " VALUES (now(), 'insert', 99, 99, 'x', 'x', '', '', 0)"
    )
    assert len(broken()) == 1


def test_many_at_once_make_one_chain() -> None:
    def one(number: int) -> None:
        save_team(
            slug=f"t{number}", name="T", department="", cost_centre="", actor="ana"
        )
        connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(80)))
    assert head().links == AuditLink.objects.count() == 80
    assert broken() == []


def test_every_table_of_history_is_guarded_and_sealed() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgrelid::regclass::text, count(*) FILTER (WHERE tgname = 'chain'),"
            " count(*) FILTER (WHERE tgname LIKE 'pgtrigger_append_only%')"
            " FROM pg_trigger GROUP BY 1"
        )
        found = {table: (chain, guard) for table, chain, guard in cursor.fetchall()}
    assert {table: found.get(table) for table in history_tables()} == dict.fromkeys(
        history_tables(), (1, 1)
    )
    assert Membership._meta.db_table + "event" in history_tables()


def test_a_head_that_was_kept_shows_what_was_cut_off() -> None:
    save()
    save("Vision two")
    line = next(row for row in run("verify").splitlines() if "audit chain" in row)
    kept = line.split()[2].rstrip(",")
    assert kept == f"2:{head().hash}"
    save("Vision three")
    assert "ok   the audit chain continues" in run("verify", f"--head={kept}")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM accounting_auditlink")
        cursor.execute("DELETE FROM accounting_teamevent")
    save("Vision four")  # a chain made anew is whole in itself
    save("Vision five")
    assert broken() == []
    with pytest.raises(SystemExit) as ended:
        run("verify", f"--head={kept}")
    assert ended.value.code == 1


@pytest.mark.parametrize("text", ["", "2", "two:ab", "2:xyz", "-1:" + "0" * 64])
def test_a_head_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="LINKS:HASH"):
        run("verify", f"--head={text}")


def test_the_head_of_an_empty_chain_is_kept_as_well() -> None:
    assert head() == Head(0, "")
    save()
    assert "continues from the stored head" in run("verify", "--head=0:")


def actors() -> list[tuple[str, str]]:
    """Actor and reason of each transaction that changed something, in their order."""
    contexts = Context.objects.order_by("created_at")
    return [(one.metadata["actor"], one.metadata["reason"]) for one in contexts]


def test_a_step_inside_another_one_has_its_actor_and_reason() -> None:
    Context.objects.all().delete()
    with act("bert", "the outer"):
        with act(SYSTEM, "a step of the system"):
            save_team(slug="a", name="A", department="", cost_centre="", actor=SYSTEM)
        save("Vision")
    with act(SYSTEM, "due"):
        save("Vision two")
    save("Vision three")
    reason = "team vision"
    assert actors() == [("bert", "the outer"), ("ana", reason), ("ana", reason)]


def fail_inside() -> None:
    with act(SYSTEM, "a step"):
        made = Team.objects.create(slug="b", name="B")
        assert made.pk / 0


def test_a_step_that_fails_inside_leaves_the_outer_one_as_it_was() -> None:
    Context.objects.all().delete()
    with act("bert", "the outer"):
        with pytest.raises(ZeroDivisionError):
            fail_inside()
        save("Vision")
    assert actors() == [("bert", "the outer")]
    assert not Team.objects.filter(slug="b").exists()
    save("Vision two")
    assert actors()[-1] == ("ana", "team vision")


def test_a_month_is_reopened_by_who_confirmed_it() -> None:
    anna, bert = person("anna"), person("bert")
    later = datetime(2026, 11, 5, tzinfo=UTC)
    close_period("2026-10", by=anna, now=later)
    asked = periods.request_reopening(
        "2026-10", "a price list was missing", anna, now=later
    )
    Context.objects.all().delete()
    periods.confirm_reopening(asked.pk, bert, now=later)
    assert actors() == [("bert", f"confirm reopening {asked.pk}")]
