"""What one module of browser tests has written is forgotten, so that the next finds the story.

No action could do so: triggers keep closed periods and the audit log. They are off here, and
the audit chain is sealed again, because pages show whether it is intact.
"""

from django.db.models import Model

from accounting.budgets.models import Budget, BudgetAlert, BudgetVersion
from accounting.months.models.close import CloseOverride, ReopenRequest
from accounting.months.models.close_request import CloseRequest
from accounting.months.models.contest import Contest, ContestStep
from accounting.months.models.entry import Entry
from accounting.months.models.period import PeriodRevision, Statement
from tests.database_flush import without_triggers

SEAL = """
DO $$
DECLARE
    link record;
    before bytea := '';
BEGIN
    FOR link IN SELECT id, body FROM accounting_auditlink ORDER BY id LOOP
        before := sha256(before || convert_to(link.body::text, 'UTF8'));
        UPDATE accounting_auditlink SET hash = before WHERE id = link.id AND hash <> before;
    END LOOP;
END $$
"""


def forget_months() -> None:
    """Delete all bookings, closed ones as well."""
    with without_triggers() as cursor:
        cursor.execute(
            "TRUNCATE charge_line, running_line, line_hours, charge_family_day, charge_family_hours"
        )
    forget(Statement, CloseOverride, CloseRequest, ReopenRequest, PeriodRevision)


def forget_budgets() -> None:
    """Delete all budgets; the next one has the number 1 again."""
    forget(BudgetAlert, BudgetVersion, Budget)


def forget_contests() -> None:
    """Delete all contests and entries; the next ones have the number 1 again."""
    forget(ContestStep, Contest, Entry)


def forget(*models: type[Model]) -> None:
    """Delete all rows of these models with their history; their numbers begin anew."""
    with without_triggers() as cursor:
        for model in models:
            table = model._meta.db_table
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # of a model
            cursor.execute(f"ALTER TABLE {table} ALTER COLUMN id RESTART")
            cursor.execute("SELECT to_regclass(%s)", [f"{table}event"])
            if cursor.fetchone() != (None,):
                cursor.execute(f"DELETE FROM {table}event")  # noqa: S608  # its history
                cursor.execute(
                    "DELETE FROM accounting_auditlink WHERE source = %s",
                    [f"{table}event"],
                )
        cursor.execute(SEAL)
