"""The shell: configuration, sign-in, and the pages that join both apps."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "portal"

    def ready(self) -> None:
        """Register the checks."""
        from portal import checks  # noqa: F401, PLC0415  # after the settings
