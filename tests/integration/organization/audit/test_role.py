"""`deploy/postgres/roles.sql`: the services' role works, and cannot rewrite the record (I17)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from threading import Event

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.utils import DatabaseError, IntegrityError, ProgrammingError

from accounting.access.models.teams import Team
from accounting.kit.audit import SYSTEM
from accounting.kit.models.audit import AuditLink
from accounting.metering.tasks.facts import partitions
from accounting.months.actions import periods
from accounting.months.actions.entries import add_entry
from accounting.months.actions.periods import close
from accounting.organization.actions.teams import save_team
from accounting.organization.reads.chain_checks import history_tables
from portal.management.commands.prepare_database import TAKE_BACK, make_role, run_file
from tests.builders import SETUP
from tests.integration.metering.support import report, run
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person
from tests.processes import wait_until
from tests.traps.scene import Pod, Scene

pytestmark = pytest.mark.django_db(transaction=True)
FILE = Path(__file__).resolve().parents[4] / "deploy" / "postgres" / "roles.sql"
AUDIT = (*history_tables(), "accounting_auditlink")


def execute(statement: str) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError:
        if "BEGIN" in statement:
            connection.close()  # else later tests are in its transaction
        raise


def role_of_test() -> str:
    """Roles are of the server: each process of the tests has its own."""
    return f"ledger_app_{connection.settings_dict['NAME']}"[:63]


def drop_role(role: str) -> None:
    execute(f"REASSIGN OWNED BY {role} TO CURRENT_USER")
    execute(f"DROP OWNED BY {role}")
    execute(f"DROP ROLE {role}")


@pytest.fixture
def as_services(transactional_db: None) -> Iterator[str]:
    """Every new connection has the services' rights, as if it had signed in as them."""
    del transactional_db
    role = role_of_test()
    text = FILE.read_text().replace("ledger_app", role)
    execute(text)
    execute(text)  # it may run again, and does after each migration
    options = connection.settings_dict["OPTIONS"]
    before = options.get("options")
    options["options"] = f"{before or ''} -c role={role}"
    connection.close()
    try:
        yield role
    finally:
        if before is None:
            del options["options"]
        else:
            options["options"] = before
        connection.close()
        drop_role(role)


PARTITION = "usage_hour_20261001"
SOMEBODY_WAITS = """
    SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = %s::regclass
"""


def analyze(is_locked: Event) -> None:
    """As autovacuum does: hold the partition, then write its row of the catalog."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {PARTITION} IN SHARE UPDATE EXCLUSIVE MODE")
            is_locked.set()

            def is_waited_for() -> bool:
                cursor.execute(SOMEBODY_WAITS, [PARTITION])
                return bool(cursor.fetchone()[0])

            wait_until(is_waited_for)
            cursor.execute(f"ANALYZE {PARTITION}")
        other.commit()
    finally:
        other.close()


def test_statistics_of_a_partition_and_the_role_do_not_wait_for_each_other(
    transactional_db: None,
) -> None:
    del transactional_db
    start = datetime(2026, 10, 1, tzinfo=UTC)
    partitions.ensure([partitions.HOURS], start, start + timedelta(hours=1))
    role, is_locked = role_of_test(), Event()
    with transaction.atomic():
        make_role(role, "", FILE)
    execute(f"ALTER TABLE {PARTITION} OWNER TO {role}")  # as earlier versions had it
    with ThreadPoolExecutor() as pool:
        analyzed = pool.submit(analyze, is_locked)
        assert is_locked.wait(10)
        with transaction.atomic():
            run_file(TAKE_BACK, role)
        with transaction.atomic():
            make_role(role, "", FILE)
        analyzed.result()
    drop_role(role)


def test_the_services_do_their_work(as_services: str, tmp_path: Path) -> None:
    del as_services
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False,)
    told = Scene()
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    told.read(tmp_path, SETUP)  # configures, makes partitions, writes facts, verifies
    assert report("usage", by="pod")[0]["allocated_ms"] == 3_600_000
    save_team(
        slug="vision", name="Vision two", department="", cost_centre="", actor="ana"
    )
    assert AuditLink.objects.filter(source="accounting_teamevent").count() >= 2
    assert "FAIL" not in run("verify")


REWRITES = (
    "TRUNCATE {}",
    "DELETE FROM {}",
    "UPDATE {} SET id = id",
    "ALTER TABLE {} DISABLE TRIGGER ALL",
    "DROP TABLE {}",
)
GUARDS = (
    "SET session_replication_role = replica",
    "DELETE FROM pghistory_context",
    "TRUNCATE pghistory_context",
    "DELETE FROM django_migrations",
    """CREATE OR REPLACE FUNCTION accounting_chain() RETURNS trigger LANGUAGE plpgsql
       AS 'BEGIN RETURN NULL; END'""",
    "DROP FUNCTION accounting_seal(text, jsonb)",
)


FOREIGN = (
    # what a taken-over service did to run as the owner
    "CREATE FUNCTION public.evil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TABLE public.evil (id integer)",
    "CREATE VIEW public.evil AS SELECT 1",
    "CREATE TRIGGER evil BEFORE DELETE ON usage_day EXECUTE FUNCTION accounting_refuse_frozen()",
    "CREATE RULE evil AS ON DELETE TO intensity_day DO NOTHING",
    "ALTER TABLE intensity_day ADD CHECK (true)",
    "CREATE SCHEMA evil",
    "DROP TABLE usage_hour",
    "TRUNCATE usage_hour",
    "SELECT accounting_create_partition('accounting_auditlink', '2026-01-01', '2026-02-01')",
    "SELECT accounting_create_partition('usage_hour', '2033-01-01Z', '2035-01-01Z')",
    "SELECT accounting_create_partition('usage_window', '2033-01-01 00:05Z', '2033-01-02 00:05Z')",
    "SELECT accounting_create_partition('usage_day', '2033-01-01Z', '2033-01-02Z')",
    "SELECT accounting_create_partition('usage_hour', '-infinity', '2033-02-01Z')",
    "SELECT accounting_drop_partitions('usage_hour', ARRAY['accounting_auditlink'])",
    "SELECT accounting_drop_partitions('accounting_auditlink', ARRAY['accounting_auditlink'])",
    "ALTER FUNCTION accounting_drop_partitions(text, text[]) SECURITY INVOKER",
)


@pytest.mark.parametrize("statement", FOREIGN)
def test_nothing_of_theirs_runs_as_the_owner(as_services: str, statement: str) -> None:
    del as_services
    with pytest.raises(
        ProgrammingError, match=r"permission denied|must be owner|facts|partitions"
    ):
        execute(statement)


def test_they_own_nothing_after_their_work(as_services: str) -> None:
    start = datetime(2032, 1, 1, tzinfo=UTC)
    made = partitions.ensure(partitions.ALL, start, start + timedelta(hours=1))
    assert made == len(partitions.ALL)
    owned = "SELECT relname FROM pg_class WHERE relowner = %s::regrole"
    with connection.cursor() as cursor:
        cursor.execute(owned, [as_services])
        assert cursor.fetchall() == []
    dropped = [
        name
        for table in partitions.ALL
        for name in partitions.drop_expired(table, start + timedelta(days=367))
        if name.endswith("_20320101")
    ]
    assert len(dropped) == made


@pytest.fixture
def earlier_days() -> Iterator[None]:
    """Days without the triggers of their families, which an earlier version does not have."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger
               WHERE tgrelid = 'usage_day'::regclass AND NOT tgisinternal"""
        )
        found = cursor.fetchall()
    for name, _ in found:
        execute(f"DROP TRIGGER {name} ON usage_day")
    yield
    execute("SET ROLE NONE")
    for _, definition in found:
        execute(definition)


@pytest.mark.usefixtures("earlier_days")
def test_tables_of_an_earlier_version_are_taken_back(as_services: str) -> None:
    execute("SET ROLE NONE")
    execute(f"GRANT CREATE ON SCHEMA public TO {as_services}")
    execute(f"ALTER TABLE usage_day OWNER TO {as_services}")
    execute(f"SET ROLE {as_services}")
    execute(FOREIGN[0])
    execute(FOREIGN[3].replace("accounting_refuse_frozen", "public.evil"))
    execute("SET ROLE NONE")
    with (
        pytest.raises(
            DatabaseError, match=r"function evil\(\), trigger evil on usage_day"
        ),
        transaction.atomic(),
    ):
        run_file(TAKE_BACK, as_services)
    execute("DROP FUNCTION public.evil() CASCADE")
    with transaction.atomic():
        run_file(TAKE_BACK, as_services)
        make_role(as_services, "", FILE)
    execute(f"SET ROLE {as_services}")
    for statement in (FOREIGN[0], FOREIGN[3]):
        with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
            execute(statement)


def test_the_record_and_its_guards_are_not_theirs_to_change(as_services: str) -> None:
    del as_services
    assert len(AUDIT) > 10
    tried = [form.format(table) for form in REWRITES for table in AUDIT]
    for statement in (*tried, *GUARDS):
        with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
            execute(statement)


def test_who_owns_the_tables_can_still_migrate(as_services: str) -> None:
    execute("SET ROLE NONE")
    execute("ALTER TABLE usage_hour ADD COLUMN later integer")
    execute("ALTER TABLE usage_hour DROP COLUMN later")
    call_command("migrate", "--check", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tableowner FROM pg_tables WHERE tablename = 'usage_hour'"
        )
        assert cursor.fetchone() != (as_services,)


def test_the_services_close_a_month_and_cannot_change_it(as_services: str) -> None:
    days = Days()
    days.price(H100, "1")
    days.use("vision", date(2026, 10, 5), 3_600_000)
    execute(f"SET ROLE {as_services}")
    closed = close("2026-10", SYSTEM)
    assert closed.is_closed
    for statement in (
        "UPDATE charge_line SET charge = charge",
        "UPDATE line_hours SET parts = parts",
        "UPDATE charge_family_day SET charge = 0",
        "DELETE FROM charge_family_day",
        "UPDATE charge_family_hours SET sums = sums",
        "DELETE FROM charge_family_hours",
        "SELECT accounting_group_lines(1)",
        "DELETE FROM charge_line",
        "TRUNCATE charge_line",
        "ALTER TABLE charge_line DISABLE TRIGGER ALL",
        "DROP TABLE charge_line",
        "TRUNCATE accounting_statement",
        "TRUNCATE accounting_periodrevision CASCADE",
        "ALTER TABLE accounting_statement DISABLE TRIGGER ALL",
        "ALTER TABLE accounting_periodrevision DISABLE TRIGGER ALL",
        "DROP FUNCTION accounting_refuse_frozen() CASCADE",
    ):
        with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
            execute(statement)
    for statement in (
        "UPDATE accounting_statement SET payable = 0",
        "DELETE FROM accounting_statement",
        "DELETE FROM line_hours",
        "UPDATE accounting_periodrevision SET hash = ''",
        "DELETE FROM accounting_periodrevision",
        """INSERT INTO charge_line SELECT (jsonb_populate_record(l, '{"line_id": "new"}')).*
           FROM charge_line l""",
    ):
        with pytest.raises(DatabaseError, match="closed periods do not change"):
            execute(statement)
    reopened = """UPDATE accounting_periodrevision SET reopened_at = now(),
        reopened_by_id = {}, reopen_confirmed_by_id = {}, reopen_reason = {}"""
    anna, bert = person("anna").pk, person("bert").pk
    for by, second, reason in (
        ("NULL", "NULL", "''"),
        (anna, "NULL", "'agreed upon'"),
        (anna, anna, "'agreed upon'"),
        (anna, bert, "'too short'"),
    ):
        with pytest.raises(IntegrityError, match="reopened_by_two"):
            execute(reopened.format(by, second, reason))
    with pytest.raises(IntegrityError, match="reopened_by_two"):
        execute(
            """INSERT INTO accounting_periodrevision SELECT (jsonb_populate_record(r,
                   '{"id": 99, "revision": 2, "reopened_at": "2026-11-05"}')).*
               FROM accounting_periodrevision r"""
        )
    assert "FAIL" not in run("verify", "--period")


def test_what_two_people_agreed_on_is_not_the_services_to_change(
    as_services: str,
) -> None:
    days = Days()
    days.price(H100, "1")
    days.use("vision", date(2026, 10, 5), 3_600_000, state="unknown")
    execute(f"SET ROLE {as_services}")
    anna, bert = person("anna"), person("bert")
    row = periods.request_override("2026-10", "coverage", "the exporter", anna)
    periods.confirm_override(row.pk, bert)
    day, amount = date(2026, 10, 5), Decimal(-1)
    add_entry("credit", Team.objects.get(), day, amount, "agreed upon", anna)
    close("2026-10", SYSTEM)
    asked = periods.request_reopening("2026-10", "agreed upon", anna)
    periods.confirm_reopening(asked.pk, bert)
    for statement in (
        "UPDATE accounting_closeoverride SET seen = '{}'",
        "UPDATE accounting_closeoverride SET requested_by_id = requested_by_id",
        "DELETE FROM accounting_closeoverride",
        "UPDATE accounting_reopenrequest SET reason = reason",
        "DELETE FROM accounting_reopenrequest",
        "UPDATE accounting_entry SET amount = 2 * amount",
        "DELETE FROM accounting_entry",
    ):
        with pytest.raises(ProgrammingError, match="permission denied"):
            execute(statement)
