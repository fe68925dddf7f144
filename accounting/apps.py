"""The accounting app: who used which GPU, for how long, at what price."""

from django.apps import AppConfig


class AccountingConfig(AppConfig):
    name = "accounting"

    def ready(self) -> None:
        """Register what subjects above add to those below, which do not import them."""
        from accounting.bills import tasks as bills  # noqa: PLC0415  # tables are there only now
        from accounting.kit.reads.known_names import KNOWN_NAMES  # noqa: PLC0415  # tables are there only now
        from accounting.metering.reads.clusters import cluster_names  # noqa: PLC0415  # tables are there only now
        from accounting.months.tasks.checks.registered import REGISTERED  # noqa: PLC0415  # tables are there only now

        KNOWN_NAMES["cluster"] = cluster_names
        REGISTERED["bills"] = bills.causes
