"""The accounting app: who used which GPU, for how long, at what price."""

from django.apps import AppConfig

from accounting.kit.reads.known_names import KNOWN_NAMES


class AccountingConfig(AppConfig):
    name = "accounting"

    def ready(self) -> None:
        """Register what the kit asks of subjects, which it does not import."""
        from accounting.metering.reads.clusters import (  # noqa: PLC0415  # reads models
            cluster_names,
        )

        KNOWN_NAMES["cluster"] = cluster_names
