"""The shell: configuration, sign-in, and the pages that join both apps."""

from django.apps import AppConfig, apps
from django.db.models.signals import pre_migrate
from django_structlog.signals import bind_extra_request_metadata

from portal.logs import bind_client


class PortalConfig(AppConfig):
    name = "portal"

    def ready(self) -> None:
        """Register checks; reject migrations of an old database; log the client's address."""
        from portal import checks  # noqa: F401, PLC0415  # after the settings
        from portal.old_database import refuse_to_migrate  # noqa: PLC0415  # as above

        # sent only for apps with models, and portal has none
        sender = apps.get_app_config("accounting")
        pre_migrate.connect(refuse_to_migrate, sender=sender)
        bind_extra_request_metadata.connect(bind_client)
