"""The shell: configuration, sign-in, and the pages that join both apps."""

from django.apps import AppConfig
from django_structlog.signals import bind_extra_request_metadata

from portal.logs import bind_client


class PortalConfig(AppConfig):
    name = "portal"

    def ready(self) -> None:
        """Register the checks; name the client's address in logs."""
        from portal import checks  # noqa: F401, PLC0415  # after the settings

        bind_extra_request_metadata.connect(bind_client)
